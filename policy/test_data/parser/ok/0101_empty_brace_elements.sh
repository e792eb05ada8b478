alpha {,} {,x} ''{,y}
