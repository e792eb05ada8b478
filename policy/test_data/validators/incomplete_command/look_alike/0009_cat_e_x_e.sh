cat <<-E
	x
	E