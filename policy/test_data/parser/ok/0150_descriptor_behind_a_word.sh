cmd <f x 2>g
