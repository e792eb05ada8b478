sed 'p
w f' x