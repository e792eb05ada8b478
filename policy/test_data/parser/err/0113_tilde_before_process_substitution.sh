a ~<(jq)
