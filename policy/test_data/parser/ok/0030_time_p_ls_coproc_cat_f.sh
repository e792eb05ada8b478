time -p ls; coproc cat f
