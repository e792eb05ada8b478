diff <(sort a) >(cat)
