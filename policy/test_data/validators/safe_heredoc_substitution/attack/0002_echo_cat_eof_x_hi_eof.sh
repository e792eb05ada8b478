echo "$(cat <<'EOF' x
hi
EOF
)"