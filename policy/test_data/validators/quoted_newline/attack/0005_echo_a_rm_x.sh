echo "a
#"; rm x