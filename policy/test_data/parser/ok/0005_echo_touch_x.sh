echo "$\
(touch x)"
