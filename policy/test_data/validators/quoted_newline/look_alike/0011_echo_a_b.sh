echo 'a
#b'