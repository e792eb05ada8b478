cat <<-EOF | grep x > out
	a
	EOF
