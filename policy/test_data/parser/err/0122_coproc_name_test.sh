coproc N [[ 'a[$(touch q)]' -eq 0 ]]
