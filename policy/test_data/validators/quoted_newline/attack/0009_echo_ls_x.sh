echo "$(ls)
# x"
echo ${!x}