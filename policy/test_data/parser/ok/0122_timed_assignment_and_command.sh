time x=1 alpha; time x=2
