sh <<E
rm x
E