# Sources the profile's shell.init, and prints the functions, options and aliases that it defines, with PATH in the first
# line. The output is untrusted data. Global and suffix aliases are left out: they would hide the program that runs.
__airlock_capture() {
    builtin emulate -L zsh
    builtin trap - DEBUG ERR EXIT
    builtin setopt extended_glob no_aliases
    builtin local name
    builtin local -a completions
    completions=("${(@v)_comps}")
    builtin print -r -- "# PATH=$PATH"
    builtin print -r -- '# shell=zsh'
    for name in "${(@ko)functions}"; do
        [[ $name == __airlock_* || $name != [A-Za-z0-9_.:+@-]## ]] && builtin continue
        [[ $name == _* ]] && (( ${completions[(Ie)$name]} )) && builtin continue
        builtin print -r -- "functions[$name]=${(qq)functions[$name]}"
    done
    for name in "${(@ko)aliases}"; do
        [[ ${aliases[$name]} == "${__airlock_aliases[$name]-}" ]] && builtin continue
        builtin print -r -- "alias -- $name=${(qq)aliases[$name]}"
    done
    for name in "${(@ko)__airlock_after}"; do
        [[ ${__airlock_after[$name]} == "${__airlock_before[$name]}" ]] && builtin continue
        # These concern how the shell starts, or belong to Airlock.
        case $name in
            aliases | banghist | exec | extendedglob | globalrcs | interactive | login | monitor) builtin continue ;;
            privileged | rcs | restricted | shinstdin | singlecommand | zle) builtin continue ;;
        esac
        if [[ ${__airlock_after[$name]} == on ]]; then
            builtin print -r -- "setopt $name"
        else
            builtin print -r -- "unsetopt $name"
        fi
    done
    builtin print -r -- '# complete'
}
zmodload zsh/parameter
setopt aliases
typeset -A __airlock_before __airlock_after __airlock_aliases
__airlock_before=("${(@kv)options}") __airlock_aliases=("${(@kv)aliases}")
exec {__airlock_out}>&1 >/dev/null 2>&1
. /run/airlock/run/shell_init
__airlock_after=("${(@kv)options}")
__airlock_capture >&$__airlock_out
