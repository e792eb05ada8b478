beta x=~/{a,b}
