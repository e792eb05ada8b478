ls # it's
echo ${!x}