git commit -F 'a
# b'