echo '#'
# x