ls <> f
