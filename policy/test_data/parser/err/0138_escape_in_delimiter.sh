l<<E\OF
$
EOF
uname

