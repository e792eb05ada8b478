alpha 0<f1 a 3>&1; beta a1<f1; gamma 0<f1
