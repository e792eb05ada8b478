# '
rm x
# '