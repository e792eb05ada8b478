cat <<A && pwd
x
A
