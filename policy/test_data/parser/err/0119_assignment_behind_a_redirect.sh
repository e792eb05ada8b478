until ! x=1 >f y=2 rm a; do b; done
