x='a[$(rm y)]'; echo $((x))
