l<<EOF
$
EOF
uname

