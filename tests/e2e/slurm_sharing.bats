#!/usr/bin/env bats
# A real Slurm whose GPUs are named g0, g1 and have two shards each: Corgi says which GPU a job gets
# and beside whom.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=2 SHARDS=2 PINNED=1 slurm_start_managed Sharing=yes
    managed_script
}

setup() {
    managed_setup "sharing: true"
}

shared_right() {
    python3 "$BATS_TEST_DIRNAME/../support/slurm_placed.py" --shares 2 --pinned \
        "$CORGID_DIR/state/corgi.db" "$SLURM_LAB/ran" "$SLURM_LAB/foreign" "$since"
}

@test "jobs share GPUs by plan, on the GPU of the plan, and none has more than its shards" {
    hand_in 4 -p other --gres=gpu:g0:1 >> foreign # Slurm says when it starts: let it be first
    within 100 runs "$(cat foreign)"
    within 50 stored_is "$(cat foreign)" state running
    for _ in 1 2 3 4; do
        hand_in 3 --gres=gpu:1 > /dev/null
        submit 3 > /dev/null
    done
    hand_in 2 --gres=gpu:2 > /dev/null
    hand_in 2 -N2 --gres=gpu:1 > /dev/null
    submit 2 --exclusive > /dev/null
    hand_in 2 --gres=gpu:1 --comment='corgi: --exclusive' > /dev/null
    hand_in 2 --gres=shard:1 --array=1-3 > /dev/null
    within 900 queue_is_empty
    within 100 record_is_complete
    run shared_right
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"most at once: 2"* ]]
    [ "$(tail -n 1 <<< "$output")" -eq 16 ]
}

@test "a job that does not share has its GPU alone, and one of ours goes to the GPU of a second plan" {
    local alone ours attempt
    on_attempt() { [ "$(api GET "/v1/jobs/$1" | field attempt)" = "$2" ]; }
    alone=$(submit 60 --exclusive)
    wait_state "$alone" running
    has() { [[ "$(scontrol -d show job "$(slurm_id "$1")")" == *"JOB_GRES=$2"* ]]; }
    within 100 has "$alone" gpu:g
    ours=$(submit 60)
    wait_state "$ours" running
    within 100 has "$ours" shard:1
    # the same again: under another number when it is another GPU
    both_run() { [ "$(squeue -h -t R -p main -o %i | wc -l)" -eq 2 ]; }
    for attempt in 2 3; do
        "$CORGI_BIN/corgi" requeue "$ours"
        within 100 on_attempt "$ours" $attempt
        wait_state "$ours" running
        within 100 both_run
    done
}

@test "detach gives jobs the GPUs back that the plugin took off" {
    local job
    for _ in 1 2; do
        job=$(hand_in 60 --gres=gpu:2)
        within 200 is "$job" RUNNING
    done
    job=$(hand_in 1 --gres=gpu:2)
    within 50 stored_is "$job" state waiting
    [ "$(of_job "$job" TresPerNode)" = "" ]
    "$CORGI_BIN/corgi" slurm detach --plugin-conf "$CORGI_SLURM_PLUGIN_CONF"
    [ "$(of_job "$job" TresPerNode)" = gres:gpu:2 ]
    mv "$CORGI_SLURM_PLUGIN_CONF.detached" "$CORGI_SLURM_PLUGIN_CONF"
}
