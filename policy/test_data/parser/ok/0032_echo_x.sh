echo é 'ü' "ß$x"
