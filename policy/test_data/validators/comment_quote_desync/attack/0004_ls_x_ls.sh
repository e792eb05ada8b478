ls
# `x`
ls