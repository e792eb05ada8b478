IFS=0; alpha $? {x..Z}
