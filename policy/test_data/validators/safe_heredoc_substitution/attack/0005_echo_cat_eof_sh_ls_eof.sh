echo "$(cat <<'EOF' | sh
ls
EOF
)"