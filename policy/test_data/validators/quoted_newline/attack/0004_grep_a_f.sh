grep "a
	#" f
echo ${!x}