cat a <&${COPROC[0]}
