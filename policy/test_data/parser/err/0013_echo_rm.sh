echo ?(rm)
