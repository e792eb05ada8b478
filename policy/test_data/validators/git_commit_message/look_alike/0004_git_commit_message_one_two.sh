git commit --message='one
# two'