ionice -c 3&> tee
