git commit -m "one
# two" -m 'three
# four'