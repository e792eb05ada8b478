cat <<EOF
`touch x`
EOF