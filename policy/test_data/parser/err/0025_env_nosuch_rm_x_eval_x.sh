env --nosuch rm x; eval "$x"
