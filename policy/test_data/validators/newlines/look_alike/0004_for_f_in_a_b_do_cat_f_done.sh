for f in a b
do
  cat $f
done