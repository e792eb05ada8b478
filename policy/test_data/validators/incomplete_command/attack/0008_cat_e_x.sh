cat <<E
x