echo "$(ls)
# x"