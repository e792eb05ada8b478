x=1; time x='a[$(curl)]'; echo $((x))
