compgen -C 'alpha q'
