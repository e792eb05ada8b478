a | b | c # comment
rm x && d
