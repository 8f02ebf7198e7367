#!/usr/bin/env bats
# Memory is part of who a job is: what a job says of it is believed for this very job, and
# no quote changes anything.  The largest card of the simulated cluster has 16 GB.

load ../support/corgid.bash

setup() {
    corgid_folder
    corgid_start
}
teardown() { corgid_clean; }

corgi() { "$CORGI_BIN/corgi" "$1" --socket "$CORGID_SOCKET" "${@:2}"; }

verdict() { # OPTION...
    corgi quote --json "$@" | field quote.verdict
}

fits() { [[ $(verdict "$@") != refused ]]; }

@test "a quote with too much memory leaves the next one alone, and the other way round" {
    run verdict --family BERT -m 200 -- x
    [ "$output" = refused ]
    fits --family BERT -m 4 -- x
    fits --family GPT -- x
    run verdict --family GPT -m 200 -- x
    [ "$output" = refused ]
}

@test "nor does a job that is there" {
    corgi submit --family BERT -m 4 --hold -- x
    corgi submit --family GPT --hold -- x
    run verdict --family BERT -m 200 -- x
    [ "$output" = refused ]
    run verdict --family GPT -m 200 -- x
    [ "$output" = refused ]
    fits --family GPT -m 4 -- x
}

@test "what one user claims is not claimed for another" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to ask as another user"
    chmod 755 "$CORGID_DIR"
    ask=$(printf '"%s" ' "$CORGI_BIN/corgi" quote --json --socket "$CORGID_SOCKET" \
        --family Llama-7B -m 100 -- python z.py)
    run su nobody -s /bin/sh -c "$ask"
    echo "$output"
    [[ $output == *'"refused"'* ]]
    corgi submit --family Llama-7B -m 2 -- python llama.py
}

@test "without a family too" {
    corgi submit -m 1 --hold -- example-train
    run verdict -m 900 -- example-train
    [ "$output" = refused ]
    fits -m 2 -- example-train
}
