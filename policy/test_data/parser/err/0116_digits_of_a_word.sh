find -2>f
