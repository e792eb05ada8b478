a | b | c
rm x && d
