>f 2>&1 rm -rf x
