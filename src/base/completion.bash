# bash completion for @name@ @version@
_@name@_commands() {
    commands=''
    case $1 in
@commands@    esac
}
_@name@() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev='' path='@name@' word='' i
    local commands='' options='' values='' kind=''
    COMPREPLY=()
    (( COMP_CWORD > 0 )) && prev="${COMP_WORDS[COMP_CWORD-1]}"
    # --option=value comes as three words.
    if [[ $cur == '=' ]]; then
        cur=''
    elif [[ $prev == '=' ]] && (( COMP_CWORD > 1 )); then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    for (( i = 1; i < COMP_CWORD; i++ )); do
        word="${COMP_WORDS[i]}"
        _@name@_commands "$path"
        [[ " $commands " == *" $word "* ]] || break
        path+=" $word"
    done
    _@name@_commands "$path"
    [[ $path == '@name@ help' ]] && _@name@_commands '@name@'
    case $path in
@options@    esac
    case "$path $prev" in
@values@    *) ;;
    esac
    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
    elif [[ $kind == file ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $kind == directory ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    elif [[ -n $kind ]]; then
        return
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ -n $commands ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}
complete -F _@name@ @name@
