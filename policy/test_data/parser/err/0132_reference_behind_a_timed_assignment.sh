( (time x= declare -n r='a[$(curl )]';a $r))
