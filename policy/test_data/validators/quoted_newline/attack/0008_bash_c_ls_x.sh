bash -c 'ls
# x'
echo ${!x}