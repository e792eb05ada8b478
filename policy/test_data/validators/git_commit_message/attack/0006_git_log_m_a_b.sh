git log -m 'a
# b'