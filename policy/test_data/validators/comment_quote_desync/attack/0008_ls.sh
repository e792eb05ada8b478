(ls # '
)
echo ${!x}