cat <<'EOF'; rm x
hi
EOF