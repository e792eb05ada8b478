r\
m x