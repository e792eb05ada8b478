ENV=f sh -ic 'cmd'
