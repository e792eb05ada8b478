# x
ls