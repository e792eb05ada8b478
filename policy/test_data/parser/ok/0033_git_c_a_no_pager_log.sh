git -C a --no-pager log
