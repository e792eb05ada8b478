echo "$(cat <<'EOF' > f
hi
EOF
)"