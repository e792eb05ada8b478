ls # "x
echo ${!x}