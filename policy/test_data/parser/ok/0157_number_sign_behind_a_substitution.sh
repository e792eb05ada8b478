echo $(a)#\
rm
