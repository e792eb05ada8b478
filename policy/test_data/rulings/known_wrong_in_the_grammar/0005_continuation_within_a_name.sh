g\
it pu\
sh