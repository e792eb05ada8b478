sh -c 'ls; eval "rm x"'
