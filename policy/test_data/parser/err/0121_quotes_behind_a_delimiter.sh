sh <<'EOF'''
rm x
EOF
