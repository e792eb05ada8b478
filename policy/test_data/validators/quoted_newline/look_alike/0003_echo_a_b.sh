echo "a
b#"