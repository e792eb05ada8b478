echo $'a
# b'