#!/usr/bin/env bats
# slurmctld is killed with signal 9: it forgets what it has not saved, which is up to five seconds.
# An end in our store wins over what it shows then.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=2 SHARDS=0 slurm_start_managed
    managed_script
}

# Right after it has saved its state, so that what follows is not saved.
saved_at() {
    stat -c %.Y "$SLURM_LAB/state/job_state" 2> /dev/null || echo never
}

just_saved() {
    local before
    saved() { [ "$(saved_at)" != "$before" ]; }
    before=$(saved_at)
    batch 0 -H -p other > /dev/null # something to save
    within 100 saved
}

kill_ctld() {
    local pid
    pid=$(cat "$SLURM_LAB/run/slurmctld.pid")
    kill -9 "$pid"
    while kill -0 "$pid" 2> /dev/null; do sleep 0.02; done
}

start_ctld() {
    "$SLURM_CLUSTER" ctld "$SLURM_LAB" 3>&-
}

runs_of() { # begin|end of all jobs
    grep -c "^$1" ran || true
}

began() {
    [ "$(runs_of begin)" = 1 ]
}

@test "slurmctld is killed just after a job was handed in: it runs once, its number may be another's" {
    local ours first other
    just_saved
    ours=$(submit 1 --hold)
    within 100 entered "$ours"
    first=$(slurm_id "$ours")
    kill_ctld
    start_ctld
    answers() { scontrol ping | grep -q UP; }
    within 100 answers
    other=$(batch 1 -p other) # gets the number of the one that was forgotten
    [ "$other" = "$first" ]
    "$CORGI_BIN/corgi" release "$ours"
    within 3 wait_state "$ours" 'done'
    [ "$(runs_of begin)" = 1 ]
    [ "$(slurm_id "$ours")" != "$first" ]
    within 200 is "$other" COMPLETED
    [ -z "$(of_job "$other" AdminComment)" ]
}

@test "slurmctld is killed just after a job has begun: it ends once" {
    local ours id at
    for _ in 1 2 3 4; do # until its start was not saved
        ours=$(submit 8 --hold)
        within 100 entered "$ours"
        id=$(slurm_id "$ours")
        just_saved
        at=$(saved_at)
        : > ran
        "$CORGI_BIN/corgi" release "$ours"
        wait_state "$ours" running
        within 30 began
        [ "$(saved_at)" != "$at" ] || break
        "$CORGI_BIN/corgi" cancel "$ours"
        wait_state "$ours" cancelled
    done
    kill_ctld
    start_ctld
    within 300 stored_is "$id" attempt 2 # slurmctld knew it on hold, and has ended its process
    within 3 wait_state "$ours" 'done|failed'
    [ "$(runs_of end)" = 1 ]
    wait_state "$ours" 'done'
    sleep 3
    [ -z "$(squeue -h -p main -o %i)" ]
    [ "$(runs_of end)" = 1 ]
}

@test "slurmctld is killed just after a job has completed: our store knows its end, it never runs again" {
    local ours id
    ours=$(submit 0.1 --hold)
    within 100 entered "$ours"
    id=$(slurm_id "$ours")
    just_saved
    "$CORGI_BIN/corgi" release "$ours"
    wait_state "$ours" 'done'
    kill -STOP "$CORGID_PID"
    kill_ctld
    start_ctld
    within 100 is "$id" PENDING # it has forgotten that it ever ran
    [ "$(of_job "$id" Priority)" = 0 ]
    kill -CONT "$CORGID_PID"
    within 200 is "$id" CANCELLED
    wait_state "$ours" 'done'
    [ "$(runs_of begin)" = 1 ]
}

of_number() { # NUMBER [STATE]: so many jobs of that number are stored
    sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from jobs where key like 'found:$1%' and state like '${2:-%}'"
}

has_stored() { # COUNT NUMBER [STATE]
    [ "$(of_number "${@:2}")" = "$1" ]
}

@test "a number that slurmctld gave twice: the second job's end is known too, by a daemon that starts again" {
    local number again
    "$CORGI_BIN/corgi" policy set paused=yes > /dev/null
    just_saved
    number=$(hand_in 0.1 --gres=gpu:1)
    within 50 has_stored 1 "$number"
    kill_ctld
    start_ctld
    within 100 sh -c "scontrol ping | grep -q UP"
    again=$(hand_in 0.2 --gres=gpu:1)
    [ "$again" = "$number" ]
    within 100 has_stored 2 "$number"
    just_saved
    "$CORGI_BIN/corgi" policy set paused=no > /dev/null
    within 300 has_stored 1 "$number" 'done'
    corgid_kill
    kill_ctld
    start_ctld
    within 100 is "$number" PENDING # it has forgotten that it ever ran
    corgid_start
    within 200 is "$number" CANCELLED
    sleep 1
    [ "$(runs_of begin)" = 1 ]
    has_stored 2 "$number"
}
