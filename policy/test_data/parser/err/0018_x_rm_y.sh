x; ) rm y
