IFS=g; cmd $HOME "$HOME"
