cu\
rl x
