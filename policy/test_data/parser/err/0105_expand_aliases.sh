shopt -s expand_aliases
alias l=touch
l q
