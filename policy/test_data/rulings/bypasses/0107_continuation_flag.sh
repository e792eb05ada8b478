sort -\
o f f