mkdir {,$}y
