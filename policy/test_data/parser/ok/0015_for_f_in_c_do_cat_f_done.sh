for f in *.c "$@"; do cat "$f"; done >out
