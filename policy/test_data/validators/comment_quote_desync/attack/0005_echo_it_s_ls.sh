echo "it's" # ' 
ls