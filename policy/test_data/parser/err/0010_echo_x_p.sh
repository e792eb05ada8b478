echo ${x@P}
