time declare -i x='a[$(beta)]'
