#!/usr/bin/env bats
# What a job may tell of itself over HTTP: windows of its own time, once, and only where its
# engine does not measure it.

load ../support/corgid.bash

setup() { corgid_folder; }
teardown() { corgid_clean; }

now() { api GET /v1/version | field now_s; }

tell() { # JOB SAMPLE...
    local id=$1 list
    shift
    list=$(printf '%s,' "$@")
    api POST /v1/measurements "{\"job\": $id, \"samples\": [${list%,}]}" -w '\n%{http_code}'
}

sample() { # AT_S WINDOW_S RATE [MORE]
    echo "{\"at_s\": $1, \"window_s\": $2, \"rate\": $3 ${4:-}}"
}

refused() { api GET "/v1/jobs/$1" | jq -r ".measurements_refused.$2 // 0"; }

plus() { python3 -c "print($1 + ($2))"; }

@test "windows outside of the attempt, or twice the same, are refused and counted" {
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 24h}/' "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(api POST /v1/jobs '{"total_steps": 1e9, "types": ["k80"], "move": false}' | field job.id)
    wait_state "$id" running
    sleep 2
    at=$(now)
    first=$(sample "$at" 5 2)
    [ "$(tell "$id" "$first" "$first" "$(sample "$(plus "$at" -2)" 5 3)" | head -1)" = '{"accepted":1}' ]
    [ "$(refused "$id" overlaps)" = 2 ]
    [ "$(tell "$id" "$(sample "$(plus "$at" 9999)" 5 2)" "$(sample 100 5 2)" \
        "$(sample "$at" 9999 2)" | head -1)" = '{"accepted":0}' ]
    [ "$(refused "$id" outside)" = 3 ]
    CORGI_SOCKET=$CORGID_SOCKET run "$CORGI_BIN/corgi" show "$id"
    echo "$output"
    [[ $output == *"2 windows: of a time that was told already"* ]]
    [[ $output == *"3 windows: not within the life of the attempt"* ]]
    api GET /metrics | grep -q 'corgi_measurements_refused_total{reason="outside"} 3'
    corgid_stop # what was refused is remembered, of a job that runs and of one that ended
    corgid_start
    [ "$(refused "$id" overlaps)" = 2 ]
    api POST "/v1/jobs/$id/cancel" > /dev/null
    wait_state "$id" cancelled
    corgid_stop
    corgid_start
    [ "$(refused "$id" outside)" = 3 ]
}

@test "a job that its engine measures is not asked for its own word" {
    corgid_start # at 600 times the speed: the engine measures it several times a second
    id=$(api POST /v1/jobs '{"total_steps": 1e9, "types": ["k80"], "move": false}' | field job.id)
    wait_state "$id" running
    for _ in $(seq 200); do
        api GET "/v1/estimates?job=$id&type=k80&beside=none" |
            jq -e '.cells[0].rate.source == "measured"' > /dev/null && break
        sleep 0.05
    done
    rate=$(api GET "/v1/jobs/$id" | field rate)
    run tell "$id" "$(sample "$(now)" 1 "$(plus "$rate" "9 * $rate")")"
    echo "$output"
    [[ $output == *"the engine measures job $id itself"* ]]
    [ "${lines[1]}" = 409 ]
    [ "$(refused "$id" engine_measures)" = 1 ]
    # Requests are counted by the front door alone: they are taken.
    run tell "$id" "$(sample "$(now)" 1 "$rate" ', "demand_rate": 3')"
    [ "${lines[1]}" = 202 ]
}
