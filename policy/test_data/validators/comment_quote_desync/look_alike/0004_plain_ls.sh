# plain
ls