alpha $? $((1)); read I''FS
