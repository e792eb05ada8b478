ls


pwd
