ls 'a
