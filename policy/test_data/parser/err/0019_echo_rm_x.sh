`echo \`rm x\``
