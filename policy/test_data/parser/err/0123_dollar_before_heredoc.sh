alph\a $<<E
$-
E
