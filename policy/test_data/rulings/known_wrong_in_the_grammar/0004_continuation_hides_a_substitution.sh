echo "$\
(touch x)"