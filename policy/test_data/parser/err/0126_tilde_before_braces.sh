beta ~{,}
