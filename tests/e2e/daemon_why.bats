#!/usr/bin/env bats
# `corgi why`: the decision that put a job where it is, and why a job waits.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 30s}/' "$CORGID_DIR/c.yaml"
}
teardown() {
    [ -z "${mounted:-}" ] || { corgid_stop || true; umount "$mounted" || umount -l "$mounted"; }
    corgid_clean
}

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

# Sentences that the daemon itself says, each where it is so, and gone when it is not.
says() { # job, text of why
    local said
    for _ in $(seq 200); do
        said=$(why "$1")
        [[ $said == *"$2"* ]] && return 0
        sleep 0.1
    done
    echo "job $1 does not say: $2 but"
    echo "$said"
    return 1
}

@test "a job over its user's quota says so, and runs when it is raised" {
    corgid_start
    api PUT "/v1/quotas/$(id -un)" '{"max_running": 1}' > /dev/null
    first=$(submit '{"total_steps": 1e9}')
    wait_state "$first" running
    second=$(submit '{"total_steps": 1e9}')
    says "$second" "job $second is waiting: waits: $(id -un) has as much running as allowed"
    [ "$(api GET "/v1/jobs/$second" | field reason_code)" = quota ]
    api PUT "/v1/quotas/$(id -un)" '{"max_running": 2}' > /dev/null
    wait_state "$second" running
    why "$second"
    [[ $output != *"as much running"* ]]
}

@test "a job that is held says so, by whose word, until it is released" {
    corgid_start
    id=$(submit '{"total_steps": 1e9, "hold": true}')
    says "$id" "job $id is held: held from the start"
    api POST "/v1/jobs/$id/release" > /dev/null
    wait_state "$id" running
    why "$id"
    [[ $output != *held* ]]
    api PUT "/v1/quotas/$(id -un)" '{"max_running": 1}' > /dev/null
    waiting=$(submit '{"total_steps": 1e9}')
    for reason in "until the data is there" ""; do
        api POST "/v1/jobs/$waiting/hold" "${reason:+{\"reason\": \"$reason\"\}}" > /dev/null
        says "$waiting" "job $waiting is held: ${reason:-held}"
        api POST "/v1/jobs/$waiting/release" > /dev/null
        says "$waiting" "job $waiting is waiting: waits: $(id -un) has as much running as allowed"
    done
}

@test "a job that waits while the store cannot write says so, and starts when it can" {
    [ "$(id -u)" = 0 ] || skip "needs root: a small file system"
    mkdir -p "$CORGID_DIR/state"
    mount -t tmpfs -o size=6m tmpfs "$CORGID_DIR/state" || skip "cannot mount here"
    mounted=$CORGID_DIR/state
    echo "nodes: [{gpu: v100, gpus: 1, count: 1, name: host}]" > "$CORGID_DIR/cluster.yaml"
    sed -i "s|^sim:.*|sim: {speed: 60, cluster_file: $CORGID_DIR/cluster.yaml}|" "$CORGID_DIR/c.yaml"
    corgid_start
    first=$(submit '{"total_steps": 1e9, "share": false}')
    wait_state "$first" running
    second=$(submit '{"total_steps": 1e9, "share": false}')
    says "$second" "job $second is waiting: waits: "
    [ "$(api GET "/v1/jobs/$second" | field reason_code)" = capacity ]
    dd if=/dev/zero of="$mounted/ballast" bs=4k 2> /dev/null || true
    for _ in $(seq 1000); do # what the files have room for is still written
        [ "$(api_status POST /v1/jobs '{"hold": true}')" = 201 ] || break
    done
    says "$second" "job $second is waiting: waits: the daemon cannot write to its store"
    [ "$(api GET "/v1/jobs/$second" | field reason_code)" = policy ]
    rm "$mounted/ballast"
    says "$second" "job $second is waiting: waits: no device it could use is free"
    api POST "/v1/jobs/$first/cancel" > /dev/null
    wait_state "$second" running
}

@test "a job that was stopped for one that goes before it says for which, and goes on after it" {
    echo "nodes: [{gpu: v100, gpus: 1, count: 1, name: host}]" > "$CORGID_DIR/cluster.yaml"
    sed -i "s|^sim:.*|sim: {speed: 60, cluster_file: $CORGID_DIR/cluster.yaml}|" "$CORGID_DIR/c.yaml"
    echo "policy: {grace: 60s, preempt: priority}" >> "$CORGID_DIR/c.yaml"
    corgid_start
    lesser=$(submit '{"total_steps": 1e9, "share": false, "need": {"kind": "best_effort"}}')
    wait_state "$lesser" running
    higher=$(submit '{"total_steps": 1e9, "share": false, "priority": 5}')
    says "$lesser" "job $lesser is waiting: stopped for job $higher; it goes on later"
    wait_state "$higher" running
    api POST "/v1/jobs/$higher/cancel" > /dev/null
    wait_state "$lesser" running
}

@test "a job that has ended says first why" {
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    api POST "/v1/jobs/$id/cancel" '{"reason": "the data was wrong"}' > /dev/null
    wait_state "$id" cancelled
    why "$id"
    [[ ${lines[0]} == "job $id was cancelled: the data was wrong"* ]]
    why "$id" --json
    [[ $output != *"was cancelled: "* ]]
}
