ls # 'a' b
echo ${!x}