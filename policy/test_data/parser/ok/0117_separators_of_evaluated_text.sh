IFS=0 eval 'alpha $?'o
