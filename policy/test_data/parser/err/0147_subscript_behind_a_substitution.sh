printf -v$(q)'a[$(cmd)]' x
