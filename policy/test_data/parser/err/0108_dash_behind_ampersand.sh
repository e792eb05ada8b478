alpha >& -f
