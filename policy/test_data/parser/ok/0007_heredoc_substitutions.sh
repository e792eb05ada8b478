cat <<EOF
a $(ls) ${x:-$(id)}
EOF
