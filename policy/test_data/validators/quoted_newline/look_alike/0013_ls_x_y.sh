ls 'x
 # y'