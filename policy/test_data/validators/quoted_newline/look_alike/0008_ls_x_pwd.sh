ls
# x
pwd