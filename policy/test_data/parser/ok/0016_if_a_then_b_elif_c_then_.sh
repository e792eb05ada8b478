if a; then b; elif c; then d; else e; fi 2>/dev/null
