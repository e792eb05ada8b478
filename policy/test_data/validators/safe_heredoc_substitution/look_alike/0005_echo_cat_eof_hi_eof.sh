echo "$(cat <<"EOF"
hi
EOF
)"