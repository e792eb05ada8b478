bash -c 'ls
# x'