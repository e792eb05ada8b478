echo "a
#"; rm x
echo ${!x}