cat a > b c < d e
