sort </dev/null -o FILE
