env - x=1 alpha
