#compdef @name@
# zsh completion for @name@ @version@
_@name@_commands() {
    commands=()
    case $1 in
@commands@    esac
}
_@name@() {
    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} at='@name@' kind='' values='' word
    local -a commands options names
    integer i
    for (( i = 2; i < CURRENT; i++ )); do
        word=${words[i]}
        _@name@_commands "$at"
        names=(${commands%%:*})
        (( ${names[(Ie)$word]} )) || break
        at+=" $word"
    done
    _@name@_commands "$at"
    [[ $at == '@name@ help' ]] && _@name@_commands '@name@'
    case $at in
@options@    esac
    # --option=value is one word here.
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        compset -P '*='
    fi
    case "$at $prev" in
@values@    *) ;;
    esac
    if [[ -z $kind$values && $cur != -* ]]; then
        case $at in
@operands@    *) ;;
        esac
    fi
    # What it is called in the help, in capitals: the program knows the words.
    if [[ -n '@complete@' && $kind == [A-Z]* ]]; then
        values=$(timeout 1 "${words[1]}" complete "$kind" 2> /dev/null)
    fi
    if [[ -n $values ]]; then
        compset -P '*,' # a list with commas between: its last word
        compadd -- ${(f)${values// /$'\n'}}
    elif [[ $kind == file ]]; then
        _files
    elif [[ $kind == directory ]]; then
        _files -/
    elif [[ -n $kind ]]; then
        return 1
    elif [[ $cur == -* ]]; then
        _describe -o option options
    elif (( $#commands )); then
        _describe command commands
    fi
}
if [[ ${funcstack[1]-} == _@name@ ]]; then
    _@name@ $* # read by compinit, as a file of $fpath
else
    compdef _@name@ @name@
fi
