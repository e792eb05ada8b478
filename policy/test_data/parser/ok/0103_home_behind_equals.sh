make a=~ a=b:~/c --opt=~ x[1]=~
