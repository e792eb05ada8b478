ls -la src
