
# one
# two
