ls
echo {fd}>x