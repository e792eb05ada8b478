echo `\
touch x`