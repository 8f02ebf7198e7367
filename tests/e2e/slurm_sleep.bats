#!/usr/bin/env bats
# With slurm.sleep, idle nodes of a real Slurm are powered down and up by Corgi's word, through Slurm's
# own power saving; how long that takes is printed, and bounded.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=4 SHARDS=0 POWER=1 slurm_start_managed
    managed_script
}

teardown_file() {
    slurm_stop
}

setup() {
    managed_setup "sleep: true"
}

teardown() {
    managed_teardown
}

state_of() { # NODE
    sinfo -h -N -p main -n "$1" -o %T
}

sleeps() { # NODE
    [[ "$(state_of "$1")" =~ powered_down|~ ]]
}

began() { # SLURM'S NUMBER: when its own first line was written
    awk -v id="$1" '$1 == "begin" && $2 == id { print $5 }' ran
}

# A node that has been idle for a minute is powered down; rounds are ten seconds apart, and Slurm takes
# SuspendTimeout (3 s) more.  A boot takes 2 s here, and slurmctld looks at its nodes once a second.
down_most=80 up_most=20

seconds_since() { # EPOCH
    awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $1 }"
}

@test "nodes without jobs are powered down, others are not; one wakes for a job, and sleeps again" {
    local mine other busy=() idle=() node took from woken
    sleep 4 # slurmctld schedules first after 3 s
    from=$(date +%s.%N)
    other=$(hand_in 600 -p other --gres=gpu:2 -w node3)
    mine=$(hand_in 600 --gres=gpu:1)
    within 300 is "$other" RUNNING
    within 300 is "$mine" RUNNING
    busy=("$(of_job "$mine" NodeList)" node3)
    for node in node1 node2 node3 node4; do
        [[ " ${busy[*]} " == *" $node "* ]] || idle+=("$node")
        sleeps "$node" && echo "$node sleeps already" && return 1
    done
    for node in "${idle[@]}"; do within $((down_most * 10)) sleeps "$node"; done
    took=$(seconds_since "$from")
    echo "# ${idle[*]}: powered down $took s after they had a job last" >&3
    awk "BEGIN { exit !($took > 50 && $took <= $down_most) }"
    for node in "${busy[@]}"; do [[ "$(state_of "$node")" =~ ^(mixed|allocated)$ ]]; done

    from=$(date +%s.%N)
    woken=$(hand_in 1 --gres=gpu:2) # no node that is awake has two free
    within 600 stored_is "$woken" state 'done'
    took=$(awk "BEGIN { printf \"%.1f\", $(began "$woken") - $from }")
    echo "# a job on a node that slept: began $took s after it was handed in" >&3
    awk "BEGIN { exit !($took <= $up_most) }"
    stored_is "$woken" attempt 1

    node=$(awk -v id="$woken" '$1 == "begin" && $2 == id { print $3 }' ran)
    [[ " ${idle[*]} " == *" $node "* ]]
    # Told twice it would boot twice, and be down then: "unexpectedly rebooted".
    [ "$(grep -c "powering up node $node\$" "$SLURM_LAB/log/slurmctld")" -eq 1 ]
    from=$(date +%s.%N)
    within $((down_most * 10)) sleeps "$node"
    took=$(seconds_since "$from")
    echo "# $node: powered down again $took s after that job's end" >&3
    awk "BEGIN { exit !($took > 50 && $took <= $down_most) }"
    is "$mine" RUNNING
    is "$other" RUNNING
    scancel "$mine" "$other"
}
