#!/usr/bin/env bats
# An engine with a queue of its own: jobs are handed in when they are admitted and taken
# out when they end while they wait; hosts with few processors; nodes that take their
# time to fall asleep.  A real corgid, a simulated cluster behind it.
bats_require_minimum_version 1.5.0

load ../support/corgid.bash

setup() {
    corgid_folder
    cat > "$CORGID_DIR/cluster.yaml" <<EOF
nodes:
  - {gpu: v100, gpus: 2, count: 1, name: host, cpus: 4, memory_gb: 64}
EOF
    cat > "$CORGID_DIR/c.yaml" <<EOF
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
sim: {speed: 600, queue: true, sleep: 3000s, cluster_file: $CORGID_DIR/cluster.yaml}
EOF
}
teardown() { corgid_clean; }

submit() { api POST /v1/jobs "$1" | field job.id; }

wait_field() { # PATH FIELD VALUE
    for _ in $(seq 400); do
        [ "$(api GET "$1" | field "$2")" = "$3" ] && return 0
        sleep 0.05
    done
    api GET "$1"
    return 1
}

@test "a job is handed in when it is admitted, starts, and is known by that name after a crash" {
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_field "/v1/jobs/$id" engine_ref "sim-$id"
    wait_state "$id" running # the engine starts nobody who was not handed in
    held=$(submit '{"total_steps": 1e9, "hold": true}')
    wait_field "/v1/jobs/$held" engine_ref "sim-$held"
    corgid_kill
    corgid_start
    [ "$(api GET "/v1/jobs/$held" | field engine_ref)" = "sim-$held" ]
    api POST "/v1/jobs/$held/release" > /dev/null # handed in again: a new engine knows nobody
    wait_state "$held" running
}

@test "processors of a host bound who runs, and the wait is said" {
    corgid_start
    run api POST /v1/jobs '{"total_steps": 1e9, "cpus": 5}'
    [[ $output == *"no node with a GPU it may use has so many CPUs"* ]]
    first=$(submit '{"total_steps": 1e9, "cpus": 3, "share": false, "move": false}')
    wait_state "$first" running
    third=$(submit '{"total_steps": 1e9, "share": false}')
    wait_state "$third" running # it asks for none
    api POST "/v1/jobs/$third/cancel" > /dev/null
    wait_state "$third" cancelled
    second=$(submit '{"total_steps": 1e9, "cpus": 2, "share": false}')
    wait_field "/v1/jobs/$second" reason_code host
    [[ $(api GET "/v1/jobs/$second" | field reason) == *"has the processors and the memory left"* ]]
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" why "$second"
    [[ $output == *"processors"* ]]
    api POST "/v1/jobs/$first/cancel" > /dev/null
    wait_state "$second" running
    [ "$(api GET /v1/nodes | field nodes.0.cpus)" = 4 ]
}

@test "a job that is cancelled while it waits leaves the engine's queue too" {
    corgid_start
    first=$(submit '{"total_steps": 1e9, "cpus": 4, "share": false, "move": false}')
    wait_state "$first" running
    id=$(submit '{"total_steps": 1e9, "cpus": 4}')
    wait_field "/v1/jobs/$id" engine_ref "sim-$id"
    api POST "/v1/jobs/$id/cancel" > /dev/null
    wait_state "$id" cancelled
    run ! grep leave_failed "$CORGID_DIR/log"
    run api GET "/v1/jobs/$id/history"
    [[ $output == *'"kind":"entered"'* ]]
}

@test "a node is falling asleep until it sleeps, and cannot be woken meanwhile" {
    corgid_start
    api POST /v1/nodes/host/power '{"state": "asleep"}' > /dev/null
    [ "$(api GET /v1/nodes | field nodes.0.state)" = falling_asleep ]
    [ "$(api_status POST /v1/nodes/host/power '{"state": "awake"}')" = 409 ]
    [ "$(api GET '/v1/nodes?state=falling_asleep' | field nodes.0.name)" = host ]
    wait_field /v1/nodes nodes.0.state asleep # 5 s of the wall
}

@test "a deadline that is near goes before who was admitted earlier, and is kept" {
    sed -i 's/speed: 600/speed: 20/' "$CORGID_DIR/c.yaml"
    corgid_start
    first=$(submit '{"total_steps": 1e9, "share": false, "move": false}')
    second=$(submit '{"total_steps": 1e9, "share": false, "move": false}')
    wait_state "$first" running
    wait_state "$second" running
    earlier=$(submit '{"total_steps": 1e9, "share": false}')
    due=$(submit '{"total_steps": 1000, "share": false, "need": {"kind": "deadline", "within_s": 7200}}')
    wait_state "$earlier" waiting
    wait_state "$due" waiting
    api POST "/v1/jobs/$first/cancel" > /dev/null
    wait_state "$due" "done"
    by=$(api GET "/v1/jobs/$due" | field need.deadline_s)
    end=$(api GET "/v1/jobs/$due" | field ended_s)
    awk -v end="$end" -v by="$by" 'BEGIN { exit !(end > 0 && end <= by) }'
    started=$(api GET "/v1/jobs/$due" | field started_s)
    wait_state "$earlier" running # on what the other has left
    awk -v due="$started" -v earlier="$(api GET "/v1/jobs/$earlier" | field started_s)" \
        'BEGIN { exit !(due < earlier) }'
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" show "$due"
    [[ $output == *"by 20"* ]]
}
