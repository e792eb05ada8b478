ls # a
# b
pwd