a[$(rm x)]=1
