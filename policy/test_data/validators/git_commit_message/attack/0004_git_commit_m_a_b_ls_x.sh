git commit -m $'a
#b' "$(ls)
# x"
echo ${!x}