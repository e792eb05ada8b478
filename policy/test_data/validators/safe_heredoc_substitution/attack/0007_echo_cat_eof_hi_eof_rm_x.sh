echo "$(cat <<'EOF'
hi
EOF
rm x)"