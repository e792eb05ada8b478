if ls
then pwd
fi