cat <<EOF
`rm x`
EOF
