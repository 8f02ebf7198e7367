#!/usr/bin/env bats
# A cold start is a beginning: a daemon that knows nothing takes every job that can run, promises
# nothing that it cannot know, and after a measured minute gives promises that hold.

load ../support/corgid.bash

setup() {
    corgid_folder
    cat > "$CORGID_DIR/c.yaml" <<EOF2
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
sim: {clock: stepped, start: 1000000, measure: 1m}
EOF2
}
teardown() { corgid_clean; }

cold_start() { python3 "$BATS_TEST_DIRNAME/../support/cold_start.py" "$CORGID_SOCKET" "$@"; }

corgi() { "$CORGI_BIN/corgi" "$1" --socket "$CORGID_SOCKET" "${@:2}"; }

twenty_jobs() { # SEED
    corgid_start
    run cold_start twenty "$1"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "twenty jobs, described or not: none is refused, and promises hold" { twenty_jobs 1; }

@test "and another twenty" { twenty_jobs 2; }

@test "what is told of a job that has no promise yet, and of its promise, also after a restart" {
    corgid_start
    run corgi submit --min-rate 0.001 -- python train.py
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"promised  not yet: when it was measured for a minute; a chance of "* ]]
    [[ $output == *"not promised yet, nothing like it was measured here: can start now"* ]]
    run corgi submit --min-rate 1e6 -- python other.py
    [ "$status" -eq 0 ]
    [ "$(api GET /v1/jobs/1 | field promise)" = pending ]
    [[ $(corgi queue) == *"-/0.001?"* ]]
    corgid_kill
    corgid_start
    [ "$(api GET /v1/jobs/1 | field promise)" = pending ]
    cold_start advance 1000600
    [ "$(api GET /v1/jobs/1 | field promise)" = given ]
    [ "$(api GET /v1/jobs/1 | field promised_rate)" = 0.001 ]
    [ "$(api GET /v1/jobs/1 | field quote.verdict)" = accepted ]
    cold_start advance 1007200
    [ "$(api GET /v1/jobs/2 | field promise)" = offered ]
    # What it can do is known now: asked for again, it is not a question any more.
    run corgi quote --min-rate 1e6 -- python other.py
    [ "$status" -eq 1 ]
    [[ $output == counter* ]]
    corgid_kill
    corgid_start
    [ "$(api GET /v1/jobs/1 | field promise)" = given ]
    [ "$(api GET /v1/jobs/2 | field promise)" = offered ]
    run corgi show 1 -H
    [[ $output == *promised* ]]
    run corgi show 2
    echo "$output"
    [[ $output == *"offered "*"what it needs cannot be had"* ]]
    # Nothing was called broken that was never promised.
    [ "$(grep -c promise_broken "$CORGID_DIR/log")" -eq 0 ]
}

@test "one job nobody described does not change what is believed of others" {
    corgid_start
    corgi submit --min-rate 40 -- python train.py
    cold_start advance 1001200
    run corgi quote --min-rate 40 --family ResNet-50 --batch 64 --gmac 4.1
    echo "$output"
    [ "$status" -eq 0 ]
    run corgi quote --json --min-rate 5 --family ResNet-50 --model conv --batch 64 --gmac 4.1 --params 25
    [ "$(field quote.verdict <<< "$output")" = unpromised ]
    python3 -c 'import sys; assert float(sys.argv[1]) > 0.1, sys.argv' "$(field quote.rate.value <<< "$output")"
    run corgi quote --kind inference --requests 200 --latency 0.05 -- ./serve
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *e-1* ]]
}
