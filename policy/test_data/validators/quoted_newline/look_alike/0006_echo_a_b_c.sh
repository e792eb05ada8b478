echo 'a
b # c'