git commit -am 'one
# two'