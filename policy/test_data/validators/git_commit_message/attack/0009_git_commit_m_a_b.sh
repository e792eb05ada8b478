./git commit -m 'a
# b'