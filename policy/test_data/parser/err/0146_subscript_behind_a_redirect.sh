read <f 'a[$(ls)]'
