sed '/x/{s/a/b/;w f
}' x