echo ${!x}
