find . -exec a {} + -exec b \;
