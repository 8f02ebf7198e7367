#!/usr/bin/env bats
# `corgi why`: the decision that put a job where it is, and why a job waits.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 30s}/' "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

submit() { api POST /v1/jobs "$1" | field job.id; }
why() { run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" why "$@"; echo "$output"; }

@test "a job that runs: its placement, not the newest power limit" {
    corgid_start
    id=$(submit '{"total_steps": 1e9, "need": {"kind": "best_effort"}, "types": ["v100-16"]}')
    wait_state "$id" running
    # A later decision about the same job that is no placement.
    device=$(api GET "/v1/jobs/$id" | field devices.0.name)
    for _ in $(seq 200); do
        api GET "/v1/decisions?job=$id&kind=cap" | grep -q '"kind":"cap"' && break
        sleep 0.1
    done
    api GET "/v1/decisions?job=$id&kind=placed" > "$CORGID_DIR/placed"
    [ "$(jq -r '.decisions[0].kind' "$CORGID_DIR/placed")" = start ]
    why "$id"
    [ "$status" -eq 0 ]
    [[ $output == *": start on $device"* ]]
    [[ $output == *"best effort: "* ]]
    [[ $output != *requirement* && $output != *e-1* ]]
}

@test "what was measured is told of the place it was measured at" {
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    for _ in $(seq 200); do
        [ "$(api GET "/v1/jobs/$id" | field rate)" != null ] && break
        sleep 0.1
    done
    api POST "/v1/jobs/$id/requeue" > /dev/null
    for _ in $(seq 200); do
        [ "$(api GET "/v1/decisions?job=$id&kind=start" | jq '.decisions | length')" -ge 2 ] && break
        sleep 0.1
    done
    [ "$(api GET "/v1/decisions?job=$id&kind=start" | jq '.decisions[-1].measured_rate')" = null ]
}

@test "a job that waits: every type it may use, and why it is not taken" {
    corgid_start
    for _ in 1 2 3 4; do # a V100 has no room for more that share nothing
        submit '{"total_steps": 1e9, "gpus": 4, "share": false, "types": ["v100-16"]}'
    done
    id=$(submit '{"total_steps": 1e9, "gpus": 4, "share": false, "types": ["v100-16", "k80"], "memory_gb": 14}')
    for _ in $(seq 100); do
        [ "$(api GET "/v1/jobs/$id" | field reason)" != null ] && break
        sleep 0.1
    done
    [ "$(api GET "/v1/jobs/$id" | field state)" = waiting ]
    why "$id"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "job $id is waiting: waits: "* ]]
    [[ ${lines[1]} == TYPE*VERDICT*SURE*NEEDED* ]]
    [[ $output == *"v100-16 "*taken* ]]
    [[ $output == *"k80 "*too_little_memory*"too little memory: "* ]]
}

@test "decisions are numbered on after a kill" {
    corgid_start
    wait_state "$(submit '{"total_steps": 1e9}')" running
    before=$(api GET /v1/decisions | jq '.decisions[0].id')
    corgid_kill
    corgid_start
    wait_state "$(submit '{"total_steps": 1e9}')" running
    after=$(api GET /v1/decisions | jq '.decisions[0].id')
    echo "before $before, after $after"
    [ "$after" -gt "$before" ]
    [ "$after" -lt $((before + 1000)) ]
}
