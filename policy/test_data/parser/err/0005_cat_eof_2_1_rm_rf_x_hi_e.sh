cat <<'EOF' 2>&1 | rm -rf x
hi
EOF
