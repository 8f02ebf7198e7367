#!/usr/bin/env bats
# What a real Slurm lets jobs use: advice keeps to partitions and reservations.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    EXTRA="PartitionName=slow Nodes=node3 MaxTime=60 State=UP
PartitionName=shut Nodes=ALL State=DOWN" slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    advisor_folder
    corgid_start
}

teardown() {
    scancel -u "$(id -un)" || true
    for name in course service; do scontrol delete reservation="$name" > /dev/null 2>&1 || true; done
    within 100 queue_is_empty || true
    corgid_clean
}

waits_for_nodes() { # SLURM ID
    within 150 says "$1" "no node it may use, by its partition, account and reservations" || {
        cat "$CORGID_DIR/said"
        return 1
    }
}

# Nodes on which the job would have been started, in the order of the ledger.
advised() { # SLURM ID
    api GET "/v1/decisions?job=$(advised_job "$1")&limit=100" |
        jq -r '[.decisions[] | select(.kind == "advise_start") | .devices[].node] | join(" ")'
}

advised_on() { # SLURM ID, NODE
    [ "$(advised "$1")" = "$2" ]
}

@test "a job is advised onto nodes of its partition alone" {
    full=$(batch 60 -p slow --gres=gpu:2)
    within 100 runs "$full"
    job=$(batch 60 -p slow --gres=gpu:1)
    waits_for_nodes "$job"
    says "$job" not_allowed # of the types of all other nodes
    sleep 3                 # some rounds more
    [ -z "$(advised "$job")" ]
    scancel "$full"
    within 150 runs "$job"
    [ "$(squeue -h -j "$job" -o %N)" = node3 ]
    [[ "$(advised "$job")" =~ ^(node3)?$ ]]
}

@test "of a partition that is down nothing starts, and after a restart of the daemon neither" {
    job=$(batch 60 -p shut --gres=gpu:1)
    waits_for_nodes "$job"
    corgid_stop
    corgid_start
    waits_for_nodes "$job"
    [ -z "$(advised "$job")" ]
    scontrol update partitionname=shut state=up
    within 150 runs "$job"
    scontrol update partitionname=shut state=down
}

@test "a node that is reserved from a time on is not planned for jobs that reach into it" {
    scontrol create reservation reservationname=service starttime=now+20minutes duration=60 \
        nodes=ALL users=root > /dev/null
    long=$(batch 60 --time=40 --gres=gpu:1)
    waits_for_nodes "$long"
    [ "$(squeue -h -j "$long" -t PD -o %i)" = "$long" ] # so does Slurm
    short=$(batch 60 --time=10 --gres=gpu:1)
    within 100 runs "$short"
    [ -z "$(advised "$long")" ]
    api GET /v1/nodes | jq -e 'all(.nodes[]; .drained == false and .reserved_s > .since_s)'
    CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" nodes | grep -q 'node1 .*awake+reserved'
    scontrol delete reservation=service
    within 150 runs "$long"
}

@test "nodes of a reservation are for its jobs while it lasts" {
    scontrol create reservation reservationname=course starttime=now duration=30 \
        nodes=node4 users=root > /dev/null
    other=$(batch 60 --time=10 --gres=gpu:a100:1)
    waits_for_nodes "$other"
    inside=$(batch 60 --time=10 --reservation=course --gres=gpu:1 --begin=now+4)
    within 100 advised_on "$inside" node4
    within 150 runs "$inside"
    [ "$(squeue -h -j "$inside" -o %N)" = node4 ]
    [ -z "$(advised "$other")" ]
}
