alpha ${x:-<(beta)}
