\
ls