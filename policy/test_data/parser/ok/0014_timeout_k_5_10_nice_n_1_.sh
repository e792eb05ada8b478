timeout -k 5 10 nice -n 1 env A=b ls
