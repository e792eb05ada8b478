coproc time ! gamma
