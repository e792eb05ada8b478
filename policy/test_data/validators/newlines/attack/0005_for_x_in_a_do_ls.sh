for x in a
do ls