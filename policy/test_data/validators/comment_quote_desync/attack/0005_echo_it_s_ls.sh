echo "it's" # ' 
ls
echo ${!x}