ls 'x
 # y'
echo ${!x}