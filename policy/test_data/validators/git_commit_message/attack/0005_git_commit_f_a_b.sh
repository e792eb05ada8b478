git commit -F 'a
# b'
echo ${!x}