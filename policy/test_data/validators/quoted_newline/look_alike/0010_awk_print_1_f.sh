awk '{
  print $1
}' f