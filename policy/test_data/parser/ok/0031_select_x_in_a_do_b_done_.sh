select x in a; do b; done; until c; do d; done
