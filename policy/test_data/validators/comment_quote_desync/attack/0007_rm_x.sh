# '
rm x
# '
echo ${!x}