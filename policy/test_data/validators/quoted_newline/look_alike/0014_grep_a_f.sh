grep "a
	#" f