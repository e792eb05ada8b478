ls # don"t
rm x
echo ${!x}