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
    if [[ -z $kind$values && $cur != -* ]]; then
        case $path in
@operands@    *) ;;
        esac
    fi
    # What it is called in the help, in capitals: the program knows the words.
    if [[ -n '@complete@' && $kind == *[A-Z]* ]]; then
        values="$(timeout 1 "${COMP_WORDS[0]}" complete "$kind" 2>/dev/null)"
    fi
    if [[ -n $values ]]; then
        # Words may be lists with commas between, and have a colon, where bash cuts words.
        values="${values//,/ }" cur="${COMP_LINE-}"
        cur="${cur:0:${COMP_POINT-0}}"
        cur="${cur##*[ =]}"
        [[ -n $cur ]] || cur="${COMP_WORDS[COMP_CWORD]#=}"
        mapfile -t COMPREPLY < <(compgen -P "${cur%"${cur##*,}"}" -W "$values" -- "${cur##*,}")
        if [[ $cur == *:* && ${COMP_WORDBREAKS-:} == *:* ]]; then
            for i in ${!COMPREPLY[*]}; do
                COMPREPLY[i]="${COMPREPLY[i]#"${cur%:*}:"}"
            done
        fi
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
    fi
}
complete -F _@name@ @name@
