alpha $${a,b}
