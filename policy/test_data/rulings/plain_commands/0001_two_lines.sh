ls
pwd