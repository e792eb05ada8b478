git pu\
sh