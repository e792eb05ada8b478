watch -n1 'git status'
