echo "$(cat <<EOF
$(rm x)
EOF
)"