cat <<E
# x
E