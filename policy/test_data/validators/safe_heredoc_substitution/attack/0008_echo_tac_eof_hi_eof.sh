echo "$(tac <<'EOF'
hi
EOF
)"