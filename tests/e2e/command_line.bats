#!/usr/bin/env bats
# What everybody meets first: help, errors, completion, man pages.

setup() {
    corgi="$CORGI_BIN/corgi"
    share="$CORGI_BIN/../share"
}

# One line on stderr that holds the words, nothing on stdout, and the exit status.
assert_refused() { # status, words, command...
    local status_wanted=$1 words=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$status_wanted" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$words"* ]]
}

bats_require_minimum_version 1.5.0

@test "corgi alone shows the commands" {
    run "$corgi"
    [ "$status" -eq 0 ]
    [[ $output == "Usage: corgi COMMAND"* ]]
    [[ $output == *"completion"* ]]
    [[ $output != *"print the man page"* ]]
}

@test "--help, -h and help say the same" {
    [ "$("$corgi" completion --help)" = "$("$corgi" help completion)" ]
    [ "$("$corgi" -h)" = "$("$corgi" help)" ]
}

@test "every command in the help has a help of its own" {
    local names
    names=$("$corgi" | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p')
    [ -n "$names" ]
    for name in $names; do
        run "$corgi" "$name" --help
        [ "$status" -eq 0 ]
        [[ $output == "Usage: corgi $name"* ]]
    done
}

@test "--version and version agree" {
    [[ $("$corgi" --version) == corgi\ [0-9]* ]]
    [ "$("$corgi" --version)" = "$("$corgi" version)" ]
}

@test "an unknown option is named, with exit status 2" {
    assert_refused 2 "corgi version: unknown option '--jsno'; see 'corgi version --help'" \
        "$corgi" version --jsno
    assert_refused 2 "unknown option '--frob'" "$corgi" --frob
}

@test "a misspelt option gets a suggestion" {
    assert_refused 2 "did you mean '--help'" "$corgi" version --hlep
}

@test "a misspelt command gets a suggestion" {
    assert_refused 2 "did you mean 'corgi completion'" "$corgi" completoin
    assert_refused 2 "did you mean 'corgi version'" "$corgi" help verison
}

@test "an unknown command is named, with exit status 2" {
    assert_refused 2 "unknown command 'dashboard'" "$corgi" dashboard
}

@test "missing and superfluous arguments are wrong use" {
    assert_refused 2 "bash|zsh|fish is missing" "$corgi" completion
    assert_refused 2 "unexpected argument 'now'" "$corgi" version now
    assert_refused 2 "only for bash, zsh and fish" "$corgi" completion tcsh
}

@test "a full disk is a failure" {
    run bash -c '"$1" help > /dev/full' _ "$corgi"
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write the output: No space left"* ]]
}

@test "the completion script is valid bash and completes" {
    run bash -c 'source <("$1" completion bash); COMP_WORDS=(corgi compl); COMP_CWORD=1
        _corgi; echo "${COMPREPLY[@]}"' _ "$corgi"
    [ "$status" -eq 0 ]
    [ "$output" = completion ]
    [ ! -d "$share" ] || bash -n "$share/bash-completion/completions/corgi"
}

# What bash offers at the end of a line.
offered() { # LINE
    bash -c 'set -u; source <("$1" completion bash); PATH=$(dirname "$1"):$PATH
        COMP_LINE=$2 COMP_POINT=${#2}; read -ra COMP_WORDS <<< "${2//:/ : }"
        [[ $2 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _corgi; echo "${COMPREPLY[*]-}"' _ "$corgi" "$1"
}

@test "the completion knows words that need no daemon, and no file where none is wanted" {
    export CORGI_SOCKET=/nonexistent
    cd /
    [ "$(offered 'corgi queue --state wai')" = waiting ]
    [ "$(offered 'corgi queue --state held,run')" = held,running ]
    [[ $(offered 'corgi sim --policy corgi,fi') == corgi,fi* ]]
    [[ " $(offered 'corgi sim --workload stan') " == *" standard "* ]]
    [ "$(offered 'corgi submit --types v100-1')" = v100-16 ]
    [ -z "$(offered 'corgi show ')" ]
    [ -z "$(offered 'corgi cancel e')" ]
    [ "$(offered 'corgi submit et')" = etc ]
    [ "$(offered 'corgi completion ')" = "bash zsh fish" ]
    [ -z "$(offered 'corgi queue ')" ]
}

@test "man pages are there for every command and render without a warning" {
    command -v groff > /dev/null || skip "groff is not installed"
    local pages
    pages=$(mktemp -d)
    "$corgi" man --out "$pages"
    [ -e "$pages/corgi.1" ] && [ -e "$pages/corgi-completion.1" ]
    [ ! -e "$pages/corgi-man.1" ]
    for page in "$pages"/*.1; do
        run --separate-stderr groff -man -Tutf8 -P-cbou -ww "$page"
        [ "$status" -eq 0 ]
        [[ -z $stderr && $output == *SYNOPSIS* ]] # warnings of groff, not words of a page
    done
    rm -r "$pages"
}
