grep {a,b}$ "$HOME"/{c,d} ${x}{e,f}
