time {
ls; }