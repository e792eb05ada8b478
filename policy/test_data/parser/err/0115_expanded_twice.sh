alpha >&'$(beta)'
