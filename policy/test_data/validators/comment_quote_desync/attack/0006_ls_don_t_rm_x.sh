ls # don"t
rm x