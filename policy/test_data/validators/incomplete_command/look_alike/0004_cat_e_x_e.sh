cat <<E
x
E