ls  x
