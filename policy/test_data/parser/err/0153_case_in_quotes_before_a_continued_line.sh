echo "$(case x in a) cmd 'b\
c';; esac)"
