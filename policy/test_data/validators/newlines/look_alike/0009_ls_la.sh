ls \
  -la