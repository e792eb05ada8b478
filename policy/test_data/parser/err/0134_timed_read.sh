x=1; time read x <<< 'a[$(curl)]'; echo $((x))
