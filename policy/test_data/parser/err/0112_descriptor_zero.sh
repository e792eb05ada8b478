alpha 0<f1 a 3>&1
