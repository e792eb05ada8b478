sh -c 'node a=~'
