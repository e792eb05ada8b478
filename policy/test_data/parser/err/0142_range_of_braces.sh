alpha {{,}..2}
