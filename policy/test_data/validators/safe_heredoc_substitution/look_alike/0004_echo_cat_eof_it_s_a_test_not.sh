echo "$(cat <<'EOF'
it's a "test"
# not a comment
EOF
)"