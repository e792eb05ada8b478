git log -m 'a
# b'
echo ${!x}