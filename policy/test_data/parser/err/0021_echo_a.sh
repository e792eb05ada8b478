echo $'a
