if ls
pwd