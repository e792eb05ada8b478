alpha {a..C}
