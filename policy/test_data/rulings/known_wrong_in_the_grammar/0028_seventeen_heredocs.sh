cat <<a0
a0
cat <<a1
a1
cat <<a2
a2
cat <<a3
a3
cat <<a4
a4
cat <<a5
a5
cat <<a6
a6
cat <<a7
a7
cat <<a8
a8
cat <<a9
a9
cat <<a10
a10
cat <<a11
a11
cat <<a12
a12
cat <<a13
a13
cat <<a14
a14
cat <<a15
a15
cat <<a16
a16
