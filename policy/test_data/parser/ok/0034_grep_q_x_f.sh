! grep -q x f
