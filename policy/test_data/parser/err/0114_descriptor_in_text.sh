sh -c 'alpha 0<f1'
