coproc N { rm x; }
