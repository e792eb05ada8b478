for in x; do y; done
