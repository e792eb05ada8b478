ls
rm x