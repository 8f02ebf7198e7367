#!/usr/bin/env bats
# A node is cut off and its job goes on there, while Slurm queues it again and Corgi starts it
# elsewhere: the first run has lost its claim.  Its probe is told so, and ends it.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

setup_file() {
    slurm_needed
    PORT=$(free_port)
    PROXY_PORT=$(free_port)
    export PORT PROXY_PORT
    NODES=2 SHARDS=0 slurm_start_managed "Probe=$CORGI_BIN/corgi-probe" "Report=http://127.0.0.1:$PROXY_PORT"
    managed_script
}

network_up() {
    python3 "$BATS_TEST_DIRNAME/../support/tcp_proxy.py" "$PROXY_PORT" "$PORT" 3>&- &
    PROXY=$!
}

network_down() {
    kill -9 "$PROXY"
    wait "$PROXY" || true
}

setup() {
    LISTEN="tcp: \"127.0.0.1:$PORT\"" managed_setup \
        "probe: $CORGI_BIN/corgi-probe, report: \"http://127.0.0.1:$PROXY_PORT\""
    network_up
}

teardown() {
    kill -9 "$PROXY" 2> /dev/null || true
    managed_teardown
}

begun() { # COUNT
    [ "$(grep -c ^begin ran)" -eq "$1" ]
}

run_of() { # LINE: the id of that run
    grep ^begin ran | sed -n "$1p" | cut -d ' ' -f 7
}

alive() { # RUN: within the last second and a half
    [ $(($(date +%s%3N) - $(date -r "$SLURM_LAB/alive/$1" +%s%3N))) -lt 1500 ]
}

is_over() { # RUN
    ! alive "$1"
}

cut_off() { # NODE: slurmd is gone, its jobs go on
    kill -9 "$(cat "$SLURM_LAB/run/$1.pid")"
}

back() { # NODE
    "$SLURM_CLUSTER" node "$SLURM_LAB" "$1" 3>&-
    within 300 sh -c "sinfo -h -n $1 -N -o %t | grep -qxE 'idle|mix|alloc'"
}

@test "a job whose node is cut off runs elsewhere, and its first run ends as it is told so" {
    local node first second ours
    ours=$(submit 60)
    within 200 begun 1
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    first=$(run_of 1)
    [[ "$first" =~ ^[0-9a-f]{32}$ ]] # the probe made it
    cut_off "$node"
    within 600 begun 2
    second=$(run_of 2)
    [ "$first" != "$second" ]
    within 100 is_over "$first"
    grep -q "run_lost_claim.*$first" "$CORGID_DIR/log"
    alive "$second"
    back "$node"
    sleep 2
    alive "$second"
    "$CORGI_BIN/corgi" cancel "$ours"
    within 300 is_over "$second"
}

@test "without a network both run, until it is back: then the first ends within 10 s" {
    local node first second job
    job=$(hand_in 90 --gres=gpu:1)
    within 200 begun 1
    sleep 4 # the daemon has heard of the first run
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    first=$(run_of 1)
    cut_off "$node"
    network_down
    within 600 begun 2
    second=$(run_of 2)
    sleep 8
    alive "$first" # nobody could tell it
    alive "$second"
    network_up
    within 100 is_over "$first"
    alive "$second"
    within 50 stored_is "$job" attempt 2
    back "$node"
    scancel "$job"
}

@test "a job that was done while its node was cut off is done, and does not run again" {
    local node job id
    job=$(submit 20)
    within 200 begun 1
    within 100 entered "$job"
    id=$(slurm_id "$job")
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    cut_off "$node"
    within 3 wait_state "$job" 'done'
    [ "$(grep -c ^begin ran)" -eq 1 ]
    back "$node"
    sleep 3
    [ "$(grep -c ^begin ran)" -eq 1 ]
    [ "$(of_job "$id" JobState)" = CANCELLED ] || [ "$(of_job "$id" JobState)" = COMPLETED ]
}

@test "a job that was done while another attempt ran already is done, and that attempt is taken back" {
    local ours node
    ours=$(submit 45)
    within 200 begun 1
    sleep 4 # the daemon has heard of the first run
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    cut_off "$node"
    network_down
    within 400 begun 2 # before the first one is done
    within 300 grep -q ^end ran
    network_up
    within 3 wait_state "$ours" 'done'
    within 100 is_over "$(run_of 2)"
    [ "$(grep -c ^end ran)" -eq 1 ]
    [ -z "$(squeue -h -o %i)" ]
    back "$node"
}

@test "a job that was done while another attempt starts is done, and that attempt is taken back" {
    local ours node run body helper
    ours=$(submit 90)
    within 200 begun 1
    sleep 4 # the daemon has heard of the first run
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    run=$(run_of 1)
    helper=$(pgrep -P "$CORGID_PID" -f corgi-engine-slurm)
    cut_off "$node"
    network_down
    for _ in $(seq 2000); do # as soon as it is given away, and nobody sees it run
        [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select attempt from jobs where id = $ours")" = 1 ] || break
        sleep 0.02
    done
    kill -STOP "$helper"
    body=$(jq -cn --argjson job "$ours" --arg run "$run" --arg node "$node" \
        '{job: $job, run: $run, node: $node, whole: true, first: 1000,
          reports: ["corgi=1 kind=ended job=\($job) attempt=1 at=1 exit=0 signal=0 told=0"]}')
    wait_state "$ours" 'running|starting'
    [ "$(api_status POST /v1/reports "$body")" = 200 ]
    kill -CONT "$helper"
    within 3 wait_state "$ours" 'done'
    within 300 queue_is_empty
    [ "$(grep -c ^end ran)" -eq 0 ]
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select state from jobs where id = $ours")" = 'done' ]
    network_up
    back "$node"
}

@test "a job that a daemon hands in after its restart has a token that is good" {
    local ours ctld
    ctld=$(cat "$SLURM_LAB/run/slurmctld.pid")
    kill "$ctld"
    while kill -0 "$ctld" 2> /dev/null; do sleep 0.05; done
    ours=$(submit 3)
    sleep 0.5
    corgid_kill # Slurm never heard of the job
    "$SLURM_CLUSTER" ctld "$SLURM_LAB" 3>&-
    corgid_start
    within 3 wait_state "$ours" 'done'
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from events
        where job = $ours and json_extract(data, '$.what') = 'completed'")" = 1 ] # its probe's word
}

@test "the end that a probe tells is on the disk before the probe hears that it was taken" {
    local preload ours node run body from
    preload=$(dirname "$CORGI_BIN")/tests/libchaos_preload.so
    [ -e "$preload" ] || skip "libchaos_preload.so was not built"
    corgid_stop
    head -c 64 /dev/zero > "$CORGID_DIR/world"
    export LD_PRELOAD=$preload CHAOS_WORLD=$CORGID_DIR/world
    corgid_start
    unset LD_PRELOAD
    ours=$(submit 90)
    within 200 begun 1
    sleep 4 # the daemon has heard of the run
    node=$(grep ^begin ran | cut -d ' ' -f 3)
    run=$(run_of 1)
    body=$(jq -cn --argjson job "$ours" --arg run "$run" --arg node "$node" \
        '{job: $job, run: $run, node: $node, whole: true, first: 1000,
          reports: ["corgi=1 kind=ended job=\($job) attempt=1 at=1 exit=0 signal=0 told=0"]}')
    printf '\320\007' | dd of="$CORGID_DIR/world" bs=1 seek=8 conv=notrunc status=none # a sync takes 2000 ms
    from=$(date +%s%3N)
    [ "$(api_status POST /v1/reports "$body")" = 200 ]
    [ $(($(date +%s%3N) - from)) -ge 1500 ]
    corgid_kill
    head -c 64 /dev/zero | dd of="$CORGID_DIR/world" conv=notrunc status=none
    corgid_start
    scontrol requeue "$(slurm_id "$ours")" # as a slurmctld does that forgot the end
    within 3 wait_state "$ours" 'done'
    [ "$(grep -c ^begin ran)" -eq 1 ]
}
