echo "a
#b"
echo ${!x}