eval 'for I''FS in 0; do :; done'; alpha $?
