sh -c 'for f in *.c; do alpha "${f%.c}" 2>&1 | beta; done'
