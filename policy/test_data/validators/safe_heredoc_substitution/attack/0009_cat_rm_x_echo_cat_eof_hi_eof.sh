cat() { rm x; }; echo "$(cat <<'EOF'
hi
EOF
)"