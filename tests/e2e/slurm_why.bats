#!/usr/bin/env bats
# `corgi why` of jobs that a real Slurm holds, runs and ends: each sentence where it is so.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    slurm_start
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
    corgid_clean
}

requeued() { # SLURM ID: the reason of that step of its history
    api GET "/v1/jobs/$(advised_job "$1")/history?limit=100" |
        jq -e '[.events[] | select(.kind == "requeued" and .text == "Slurm queued it again")] | length == 1' > /dev/null
}

will_say() { # SLURM ID, TEXT
    within 150 says "$1" "$2" || {
        cat "$CORGID_DIR/said"
        return 1
    }
}

@test "held in Slurm, from the start and later, until it is released" {
    first=$(batch 60 --hold --gres=gpu:1)
    will_say "$first" "is held: held in Slurm"
    scontrol release "$first"
    within 150 runs "$first"
    will_say "$first" "runs where Slurm put it"
    run ! says "$first" held
    second=$(batch 60 --begin=now+1hour --gres=gpu:1)
    will_say "$second" "is waiting"
    run ! says "$second" held
    scontrol hold "$second"
    will_say "$second" "is held: held in Slurm"
    scontrol release "$second"
    will_say "$second" "is waiting"
    run ! says "$second" held
}

@test "ends are told as Slurm tells them" {
    done=$(batch 0.1 --gres=gpu:1)
    failed=$(sbatch --parsable -o /dev/null --gres=gpu:1 --wrap 'exit 3')
    killed=$(sbatch --parsable -o /dev/null --gres=gpu:1 --wrap 'ulimit -c 0; kill -SEGV $$')
    cancelled=$(batch 60 --gres=gpu:1)
    never=$(batch 60 --hold --gres=gpu:1)
    array=$(batch 60 --hold --array=1-2 --gres=gpu:1)
    will_say "$cancelled" "runs where Slurm put it"
    will_say "$never" "is held"
    will_say "${array}_2" "is held"
    scancel "$cancelled" "$never" "${array}_2"
    will_say "$done" "is done: Slurm says: completed"
    will_say "$failed" "has failed: ended with exit status 3: Slurm says: failed"
    will_say "$killed" "Slurm says: failed"
    will_say "$cancelled" "was cancelled: Slurm says: cancelled"
    will_say "$never" "was cancelled: Slurm says: cancelled"
    will_say "${array}_2" "was cancelled: Slurm took it out of its array"
}

@test "a job that Slurm queued again, and one that it holds then" {
    again=$(batch 60 --gres=gpu:1)
    held=$(batch 60 --gres=gpu:1)
    will_say "$again" "runs where Slurm put it"
    will_say "$held" "runs where Slurm put it"
    scontrol requeue "$again" # Slurm waits two minutes with it
    scontrol requeuehold "$held"
    will_say "$held" "is held: held in Slurm"
    within 150 requeued "$again"
}
