echo {fd}>x
