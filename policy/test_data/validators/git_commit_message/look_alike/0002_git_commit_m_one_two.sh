git commit -m 'one

# two'