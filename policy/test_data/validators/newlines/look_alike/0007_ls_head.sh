ls |
head