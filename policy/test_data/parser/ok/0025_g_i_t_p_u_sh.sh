\g"i"t p$'u'sh
