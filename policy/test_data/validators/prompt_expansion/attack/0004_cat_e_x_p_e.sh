cat <<E
${x@P}
E