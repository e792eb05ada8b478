cat "$PWD/../../etc/shadow"
