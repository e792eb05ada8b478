x=$(cat <<'EOF'
hi
EOF
)