beta $HOME{,X}
