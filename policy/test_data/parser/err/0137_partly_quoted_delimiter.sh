l<<E'O'F
$
EOF
(uname)

