echo a#b '#' "#" # c
