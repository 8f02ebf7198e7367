#!/usr/bin/env bats
# One option table: what a --help says is in the man page and in the completion of bash, zsh
# and fish, for every command of every program.
bats_require_minimum_version 1.5.0

setup() {
    PATH=$CORGI_BIN:$PATH
    export CORGI_SOCKET=/nonexistent
}

# Every command of every program, "corgi bench plan" a line.
commands() { # path...
    local path name
    for path in "$@"; do
        echo "$path"
        # shellcheck disable=SC2086  # a path is words
        for name in $($path --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'); do
            commands "$path $name"
        done
    done
}

# "corgi sim --seed" a line, of every --help.
options_of_help() {
    local path
    while read -r path; do
        # shellcheck disable=SC2086
        $path --help | sed -nE "s/^  (-[a-zA-Z], |    )(--[a-z0-9-]+).*/$path \2/p"
    done
}

# What a shell offers at the end of every line "corgi sim --", as "corgi sim --seed".
of_bash() {
    # shellcheck disable=SC2016
    bash -c 'source <(corgi completion bash)
        source <(corgid --bash-completion); source <(corgi-probe --bash-completion)
        while read -r path; do
            COMP_LINE="$path --" COMP_POINT=$((${#path} + 3)); read -ra COMP_WORDS <<< "$path --"
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "_${COMP_WORDS[0]}"
            printf "$path %s\n" "${COMPREPLY[@]}"
        done'
}

# Its completion calls _describe with the name of an array of "--seed:meaning".
of_zsh() {
    # shellcheck disable=SC2016
    zsh -f -c 'compdef() { : }; _describe() { print -rl -- ${${(P)argv[-1]}%%:*} }
        source <(corgi completion zsh)
        source <(corgid --zsh-completion); source <(corgi-probe --zsh-completion)
        while read -r line; do
            words=(${=line} --) CURRENT=$#words
            _${words[1]} | sed "s/^/$line /"
        done'
}

of_fish() {
    # shellcheck disable=SC2016
    fish --no-config -c 'corgi completion fish | source
        corgid --fish-completion | source; corgi-probe --fish-completion | source
        while read -l line
            for word in (complete -C "$line --" | string replace -r "\t.*" "")
                echo "$line $word"
            end
        end'
}

@test "every option of every --help is in the man page" {
    while read -r path; do
        read -ra words <<< "$path"
        if [[ ${words[0]} == corgi ]]; then
            page=$(corgi man "${words[@]:1}")
        else
            page=$("$path" --man-page)
        fi
        for option in $(options_of_help <<< "$path" | grep -oE -- '--[a-z0-9-]+$'); do
            [[ $page == *"\\fB${option//-/\\-}\\fR"* ]] || {
                echo "$path $option"
                false
            }
        done
    done < <(commands corgi corgid corgi-probe)
}

@test "every option of every --help is completed by bash, zsh and fish, and no other" {
    commands corgi corgid corgi-probe > "$BATS_TEST_TMPDIR/commands"
    options_of_help < "$BATS_TEST_TMPDIR/commands" | sort > "$BATS_TEST_TMPDIR/help"
    (($(wc -l < "$BATS_TEST_TMPDIR/help") > 200))
    for shell in bash zsh fish; do
        command -v "$shell" > /dev/null || skip "$shell is not installed"
        "of_$shell" < "$BATS_TEST_TMPDIR/commands" | sort > "$BATS_TEST_TMPDIR/$shell"
        diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/$shell"
    done
}

# What fish offers at the end of a line, on one line.
fish_offers() {
    # shellcheck disable=SC2016
    fish --no-config -c 'corgi completion fish | source; complete -C $argv[1]' "$1" |
        cut -f 1 | paste -s -d ' '
}

@test "fish completes commands, values, lists and files, and no file where none is wanted" {
    command -v fish > /dev/null || skip "fish is not installed"
    cd /
    [ "$(fish_offers 'corgi compl')" = completion ]
    [ "$(fish_offers 'corgi help compl')" = completion ]
    [ "$(fish_offers 'corgi queue --state wai')" = waiting ]
    [ "$(fish_offers 'corgi queue --state held,run')" = held,running ]
    [ "$(fish_offers 'corgi queue --state=run')" = --state=running ]
    [ "$(fish_offers 'corgi sim --policy corgi,fif')" = corgi,fifo ]
    [ "$(fish_offers 'corgi submit --types v100-1')" = v100-16 ]
    [ "$(fish_offers 'corgi submit et')" = etc/ ]
    [ "$(fish_offers 'corgi completion ')" = "bash fish zsh" ]
    [ -z "$(fish_offers 'corgi queue ')" ]
    [ -z "$(fish_offers 'corgi cancel e')" ]
}

@test "zsh completes commands, values, lists and files" {
    command -v zsh > /dev/null || skip "zsh is not installed"
    cd /
    # The words of the line, with stubs that print what zsh would be offered.
    while IFS='=' read -r line wanted; do
        # shellcheck disable=SC2016
        run zsh -f -c 'compdef() { : }; compset() { cur=${cur##*,} }
            _describe() { print -rl -- ${${(P)argv[-1]}%%:*} | grep -e "^$cur" }
            compadd() { shift; print -l $* | grep -e "^$cur" }
            _files() { print files $* }
            source <(corgi completion zsh)
            words=(${=1}); [[ $1 != *" " ]] || words+=("")
            CURRENT=$#words; _corgi' _ "$line"
        echo "$line: $output"
        [ "${output//$'\n'/ }" = "$wanted" ]
    done << 'END'
corgi compl=completion
corgi help compl=completion
corgi queue --state wai=waiting
corgi queue --state held,run=running
corgi sim --policy corgi,fif=fifo
corgi submit --types v100-1=v100-16
corgi submit et=files
corgi sim --out =files -/
corgi completion =bash zsh fish
corgi queue =
END
}

@test "zsh completes at the tab key" {
    command -v zsh > /dev/null || skip "zsh is not installed"
    command -v tmux > /dev/null || skip "tmux is not installed"
    tmux -L "corgi$$" -f /dev/null new-session -d -x 100 -y 24 "PATH=$PATH zsh -f"
    tmux -L "corgi$$" send-keys 'autoload -U compinit; compinit -u -D' Enter \
        'source <(corgi completion zsh)' Enter 'clear' Enter
    sleep 1
    tmux -L "corgi$$" send-keys 'corgi queue --sta' Tab 'wai' Tab
    for _ in $(seq 50); do
        screen=$(tmux -L "corgi$$" capture-pane -p)
        [[ $screen != *"--state waiting"* ]] || break
        sleep 0.1
    done
    tmux -L "corgi$$" kill-server
    echo "$screen"
    [[ $screen == *"corgi queue --state waiting"* ]]
}
