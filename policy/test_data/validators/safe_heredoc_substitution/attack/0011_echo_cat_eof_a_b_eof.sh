echo $(cat <<'EOF'
a b
EOF
)