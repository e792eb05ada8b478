sh -c 'alpha {a,b}'
