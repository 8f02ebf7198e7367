#!/usr/bin/env bats
# corgi top on a real terminal (tmux): what it shows at 80x24 and 200x60, resized while it
# runs; its keys; a daemon that goes and comes back.

load ../support/corgid.bash

setup() {
    command -v tmux > /dev/null || skip "tmux is not installed"
    corgid_folder
    corgid_start
    for name in alpha beta gamma; do
        api POST /v1/jobs "{\"name\": \"$name\", \"total_steps\": 1e12,
            \"descriptor\": {\"family\": \"LSTM\", \"model\": \"rnn\", \"batch\": 64},
            \"need\": {\"kind\": \"rate\", \"rate\": 0.1}}" > /dev/null
    done
    wait_state 3 running
}

teardown() {
    tmux -S "$CORGID_DIR/tmux" kill-server 2> /dev/null || true
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

term() { tmux -S "$CORGID_DIR/tmux" "$@"; }

open_top() { # COLUMNS ROWS [ENVIRONMENT]
    term -f /dev/null new-session -d -x "$1" -y "$2" \
        "${3:-} LC_ALL=C.UTF-8 $CORGI_BIN/corgi top --socket $CORGID_SOCKET --delay 300ms; echo ended with \$?; sleep 60"
}

screen() { term capture-pane -p; }

# Until the screen has this, as an extended regular expression.
shows() { # PATTERN
    for _ in $(seq 100); do
        screen | grep -qE "$1" && return 0
        sleep 0.1
    done
    echo "no '$1' on:"
    screen
    return 1
}

rows_of() { screen | grep -cE "$1"; }

@test "top: 80x24 has jobs or GPUs, 200x60 both; resized while it runs" {
    open_top 80 24
    shows '3 running, 0 waiting'
    shows '^ +1 alpha +running +[0-9.]+ +0\.1'
    [ "$(rows_of '^GPU ')" = 0 ]
    [ "$(screen | wc -l)" -le 24 ]
    [ "$(screen | awk '{ if (length > most) most = length } END { print most }')" -le 80 ]
    term send-keys Tab
    shows '^GPU \^ +TYPE +STATE'
    shows '^kepler-1:0 +k80'
    term resize-window -x 200 -y 60
    shows '^GPU .*ENERGY'
    shows 'JOB \^ +NAME +USER .*STEPS'
    shows '^ +2 beta '
    term resize-window -x 80 -y 24
    shows '^GPU \^ +TYPE'
    [ "$(rows_of 'JOB \^')" = 0 ]
    # Too small for anything: it neither ends nor hangs.
    term resize-window -x 3 -y 2
    sleep 0.5
    term resize-window -x 80 -y 24
    shows '^GPU \^ +TYPE'
    term send-keys q
    shows 'ended with 0'
}

@test "top: sort, filter, why, help" {
    open_top 80 24
    shows '1 alpha'
    term send-keys s r
    shows 'NAME v'
    [ "$(screen | grep -oE '(alpha|beta|gamma)' | head -n 1)" = gamma ]
    term send-keys / bet Enter
    shows 'filter: bet'
    [ "$(rows_of '(alpha|gamma)')" = 0 ]
    term send-keys Enter
    shows 'Job 2 beta of .* is running on'
    shows 'start: '
    term send-keys Escape
    shows 'filter: bet'
    term send-keys Escape
    shows '1 alpha'
    term send-keys h
    shows 'sort by the next column'
    term send-keys h
    shows 'NAME v'
}

@test "top: the daemon goes, is named, and comes back" {
    open_top 80 24 NO_COLOR=1
    shows '1 alpha'
    corgid_stop
    shows 'no daemon listens'
    shows '1 alpha' # what it told last stays
    corgid_start
    for _ in $(seq 50); do
        screen | grep -q 'no daemon listens' || break
        sleep 0.1
    done
    [ "$(rows_of 'no daemon listens')" = 0 ]
    shows '1 alpha'
}

@test "top: without a terminal it says what to use" {
    run "$CORGI_BIN/corgi" top --socket "$CORGID_SOCKET"
    [ "$status" -eq 1 ]
    [[ $output == *"needs a terminal; corgi queue"* ]]
}
