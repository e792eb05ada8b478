nice x==~
