x=1; declare $y; echo $((x))
