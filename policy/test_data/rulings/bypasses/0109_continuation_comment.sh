ls # \
rm x