cat <<E
x
E