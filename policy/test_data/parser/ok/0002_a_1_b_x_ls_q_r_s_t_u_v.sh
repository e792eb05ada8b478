a=1 b=$x ls 'q r' "s $t" u\ v
