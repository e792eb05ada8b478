export A=$(ls) B; unset C
