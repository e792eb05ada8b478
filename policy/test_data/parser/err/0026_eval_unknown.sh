eval $y
