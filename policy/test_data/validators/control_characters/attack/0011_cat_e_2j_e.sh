cat <<E
[2J
E