ls 'a
b