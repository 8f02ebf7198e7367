#!/usr/bin/env bats
# The daemon is away for longer than Slurm remembers ended jobs (MinJobAge): it reads in Slurm's own
# book of ends what became of them, and nothing runs twice.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    MIN_JOB_AGE=2 NODES=2 SHARDS=0 slurm_start_managed
    managed_script
}

forgotten() { # JOB
    ! scontrol show job "$1" > /dev/null 2>&1
}

@test "what ended while the daemon was away is looked up, and nothing runs twice" {
    local runs ours fails held job
    runs=$(hand_in 3 --gres=gpu:1)
    ours=$(submit 3)
    fails=$(sbatch --parsable -o /dev/null --gres=gpu:1 --wrap "sleep 3; exit 7" 2> /dev/null 3>&-)
    within 200 entered "$ours"
    for job in "$runs" "$fails" "$(slurm_id "$ours")"; do within 200 is "$job" RUNNING; done
    held=$(submit 1 --hold)
    within 100 entered "$held"
    corgid_kill
    job=$(slurm_id "$held")
    scontrol release "$job" # an operator, while the daemon is away
    within 600 forgotten "$runs"
    within 600 forgotten "$(slurm_id "$ours")"
    within 600 forgotten "$fails"
    within 600 forgotten "$job"
    [ "$(grep -c ^end ran)" -eq 3 ]
    corgid_start
    within 5 wait_state "$ours" 'done'
    within 100 stored_is "$runs" state 'done'
    within 100 stored_is "$fails" state failed
    stored_is "$fails" exit_status 7
    within 5 wait_state "$held" 'done'
    sleep 3
    [ "$(grep -c ^begin ran)" -eq 3 ]
    queue_is_empty
}
