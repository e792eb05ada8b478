cat <<E
# it's
E