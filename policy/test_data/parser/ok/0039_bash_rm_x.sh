bash <<< 'rm x'
