test $x 'a[$(alpha)]'
