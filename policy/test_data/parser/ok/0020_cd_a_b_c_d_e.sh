(cd a; b) && { c; d; } || ! e
