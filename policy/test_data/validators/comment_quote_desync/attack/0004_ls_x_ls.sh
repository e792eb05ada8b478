ls
# `x`
ls
echo ${!x}