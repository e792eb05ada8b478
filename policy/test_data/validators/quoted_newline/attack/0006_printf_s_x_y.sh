printf '%s' 'x

# y'