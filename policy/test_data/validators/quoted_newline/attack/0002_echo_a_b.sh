echo "a
#b"