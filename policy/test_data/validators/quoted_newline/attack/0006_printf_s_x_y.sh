printf '%s' 'x

# y'
echo ${!x}