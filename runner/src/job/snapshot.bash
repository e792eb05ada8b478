# Sources the profile's shell.init, and prints the functions, options and aliases that it defines, with PATH in the
# first line. The output is untrusted data.
__airlock_capture() {
    builtin set +efuvx
    builtin trap - DEBUG ERR RETURN EXIT
    builtin set -f
    builtin local IFS=$' \t\n' name option completions
    builtin printf '# PATH=%s\n' "$PATH"
    completions=" $(builtin complete -p 2>/dev/null) "
    completions=${completions//$'\n'/ }
    for name in $(builtin compgen -A function); do
        if [[ $name == __airlock_* ]]; then
            builtin continue
        fi
        if [[ $name == _* && $completions == *" -F $name "* ]]; then
            builtin continue
        fi
        builtin declare -f -- "$name"
    done
    __airlock_options "shopt -s" ":$__airlock_shopt_before:extglob:login_shell:restricted_shell:" "$1"
    __airlock_options "shopt -u" ":$1:extglob:login_shell:restricted_shell:" "$__airlock_shopt_before"
    __airlock_options "set -o" ":$__airlock_set_before:history:histexpand:noexec:" "$2"
    __airlock_options "set +o" ":$2:history:histexpand:noexec:" "$__airlock_set_before"
    builtin alias -p
    builtin printf '# complete\n'
}
__airlock_options() {
    for option in ${3//:/ }; do
        if [[ $2 != *":$option:"* ]]; then
            builtin printf '%s %s\n' "$1" "$option"
        fi
    done
}
shopt -s expand_aliases
__airlock_shopt_before=$BASHOPTS __airlock_set_before=$SHELLOPTS
exec {__airlock_out}>&1 >/dev/null 2>&1
. /run/airlock/run/shell_init
__airlock_capture "$BASHOPTS" "$SHELLOPTS" >&"$__airlock_out"
