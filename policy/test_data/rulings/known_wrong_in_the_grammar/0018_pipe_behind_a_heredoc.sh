cat <<'EOF' | sh
rm x
EOF