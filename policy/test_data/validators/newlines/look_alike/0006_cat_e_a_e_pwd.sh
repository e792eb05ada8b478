cat <<E
a
E
pwd