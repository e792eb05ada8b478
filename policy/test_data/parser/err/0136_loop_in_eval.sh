x=1; eval 'for x in "a[\$(curl)]"; do :; done'; echo $((x))
