"$(cat <<'EOF'
rm
EOF
)" x