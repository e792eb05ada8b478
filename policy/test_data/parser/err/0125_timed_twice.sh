time time ! gamma
