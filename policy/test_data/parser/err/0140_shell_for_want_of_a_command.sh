setarch x86_64<<<m
