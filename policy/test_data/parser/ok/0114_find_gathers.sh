find . -name '*.c' -exec grep -l x {} + -exec alpha {} \;
