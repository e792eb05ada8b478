source f2 && alpha
