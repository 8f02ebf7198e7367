#!/usr/bin/env bats
# A real Slurm whose partition `main` is managed: jobs wait on hold until Corgi has a place, Slurm
# starts them there, and a foreign partition on the same nodes is left alone.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=3 SHARDS=0 POWER=1 slurm_start_managed
    managed_script
}

@test "jobs of both ways in run once, where the plan says; a foreign partition is left alone" {
    hand_in 3 -p other --gres=gpu:1 >> foreign
    hand_in 2 -p other --gres=gpu:2 >> foreign
    for _ in 1 2 3; do
        hand_in 1 --gres=gpu:1 > /dev/null
        submit 1 > /dev/null
        hand_in 0.5 --gres=gpu:2 > /dev/null
    done
    hand_in 1 --gres=gpu:1 --array=1-3 > /dev/null
    hand_in 1 -N2 --gres=gpu:1 > /dev/null
    submit 1 --gpus 2 > /dev/null
    hand_in 1 --gres=gpu:k80:1 > /dev/null
    within 900 queue_is_empty
    within 100 record_is_complete
    run placed_right
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(tail -n 1 <<< "$output")" -eq 17 ]
    while read -r job; do
        [ -z "$(of_job "$job" AdminComment)" ]
    done < foreign
}

@test "what users cancel ends, while it waits and while it runs; what others wrote stays" {
    local long=() waits runs ours
    for _ in 1 2 3; do long+=("$(hand_in 60 --gres=gpu:2)"); done
    within 200 is "${long[0]}" RUNNING
    within 200 is "${long[2]}" RUNNING
    waits=$(hand_in 1 --gres=gpu:1)
    ours=$(submit 1)
    within 100 entered "$ours"
    within 50 stored_is "$waits" state waiting
    [ "$(of_job "$waits" Priority)" = 0 ]
    scancel "$waits"
    within 100 stored_is "$waits" state cancelled
    "$CORGI_BIN/corgi" cancel "$ours"
    within 100 is "$(slurm_id "$ours")" CANCELLED
    waits=$(hand_in 1 --gres=gpu:1)
    scontrol update job="$waits" admincomment="theirs $(of_job "$waits" AdminComment)"
    scancel "${long[0]}"
    within 100 stored_is "${long[0]}" state cancelled
    within 200 is "$waits" COMPLETED
    [[ "$(scontrol show job "$waits")" == *"AdminComment=theirs corgi1:"*".1:{"* ]]
    within 100 stored_is "$waits" state 'done'
    runs=$(stored "${long[1]}" id)
    "$CORGI_BIN/corgi" cancel "$runs"
    within 100 is "${long[1]}" CANCELLED
    within 100 stored_is "${long[1]}" state cancelled
    # a foreign job is not ours to cancel
    waits=$(hand_in 30 -p other --gres=gpu:1)
    within 100 stored_is "$waits" state running
    run -1 "$CORGI_BIN/corgi" cancel "$(stored "$waits" id)"
    [[ "$output" == *"only watched"* ]]
    is "$waits" RUNNING
}

@test "a job that does not start in time is held again, and nothing counts against it" {
    local job
    scontrol update partition=main state=down
    job=$(hand_in 1 --gres=gpu:1)
    held_again() { grep -q 'requeued.*no room' "$CORGID_DIR/log" && [ "$(of_job "$job" Priority)" = 0 ]; }
    within 300 held_again
    scontrol update partition=main state=up
    within 300 is "$job" COMPLETED
    within 100 stored_is "$job" state 'done'
    [ "$(stored "$job" "json_extract(progress_extra, '\$.unfinished')")" = 0 ]
}

@test "a daemon that was killed finds its jobs again, and none runs twice" {
    local long ours
    long=$(hand_in 6 --gres=gpu:2)
    for _ in 1 2 3; do hand_in 1 --gres=gpu:2 > /dev/null; done
    ours=$(submit 1)
    within 200 is "$long" RUNNING
    corgid_kill
    hand_in 1 --gres=gpu:1 > /dev/null
    corgid_start
    hand_in 1 --gres=gpu:1 > /dev/null
    within 100 entered "$ours"
    within 900 queue_is_empty
    within 100 record_is_complete
    run placed_right
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(tail -n 1 <<< "$output")" -eq 7 ]
}

@test "a job that is queued again, by Corgi or by Slurm itself, is held and placed anew" {
    local job attempt
    job=$(hand_in 60 --gres=gpu:1)
    within 200 stored_is "$job" state running
    within 200 is "$job" RUNNING
    for attempt in 2 3 4; do # slurmd refuses a start in the second of the end before
        "$CORGI_BIN/corgi" requeue "$(stored "$job" id)"
        within 200 stored_is "$job" attempt $attempt
        within 300 is "$job" RUNNING
        within 50 stored_is "$job" state running
        [[ "$(of_job "$job" AdminComment)" == *".$attempt:{"* ]]
    done
    scontrol requeue "$job"
    within 300 stored_is "$job" attempt 5
    within 300 is "$job" RUNNING
    [[ "$(of_job "$job" AdminComment)" == *".5:{"* ]]
    [ "$(of_job "$job" NumNodes)" = 1 ]
    # what it had was given back, and nothing counts against it
    stored_is "$job" "json_extract(progress_extra, '\$.unfinished')" 0
}

@test "detach in the middle: every job ends under plain Slurm, and a daemon that runs only watches" {
    local job held=() long=()
    for _ in 1 2 3; do long+=("$(hand_in 120 --gres=gpu:2)"); done
    for job in "${long[@]}"; do within 200 is "$job" RUNNING; done
    job=$(submit 1)
    for _ in 1 2 3 4; do held+=("$(hand_in 1 --gres=gpu:1)"); done
    within 100 entered "$job"
    held+=("$(slurm_id "$job")")
    within 50 stored_is "${held[3]}" state waiting
    PATH=$CORGI_BIN:$PATH run -0 bash -c "$("$CORGI_BIN/corgi" slurm detach --help | grep '^ *corgi slurm detach')" # as printed
    [[ "$output" == *"would release job ${held[0]} of"* ]]
    run -0 "$CORGI_BIN/corgi" slurm detach --dry-run --plugin-conf "$CORGI_SLURM_PLUGIN_CONF"
    for job in "${held[@]}"; do
        [[ "$output" == *"would release job $job of"* ]]
        [ "$(of_job "$job" Priority)" = 0 ]
    done
    [ -e "$CORGI_SLURM_PLUGIN_CONF" ]
    run -0 "$CORGI_BIN/corgi" slurm detach --plugin-conf "$CORGI_SLURM_PLUGIN_CONF"
    [[ "$output" == *"5 jobs are with Slurm's own scheduler"* ]]
    for job in "${held[@]}"; do
        [ "$(of_job "$job" Priority)" != 0 ]
        [ -z "$(of_job "$job" AdminComment)" ]
    done
    for job in "${long[@]}"; do is "$job" RUNNING; done
    within 50 stored_is "${held[3]}" reason "released in Slurm: its own scheduler starts it"
    sleep 1 # some rounds, which have no word of it
    run -0 "$CORGI_BIN/corgi" why "$(stored "${held[3]}" id)"
    [[ "$output" == *"is waiting: released in Slurm: its own scheduler starts it"* ]]
    held+=("$(hand_in 1 --gres=gpu:1)") # nobody holds it
    scancel "${long[0]}"
    for job in "${held[@]}"; do within 300 is "$job" COMPLETED; done
    [ "$(grep -c '^end' ran)" -eq 6 ]
    for job in "${held[@]}"; do within 100 stored_is "$job" state 'done'; done
    is "${long[1]}" RUNNING
    mv "$CORGI_SLURM_PLUGIN_CONF.detached" "$CORGI_SLURM_PLUGIN_CONF"
}

asleep() { # COUNT: so many nodes sleep
    [ "$(sinfo -h -N -p main -o '%N %T' | grep -cE 'powered_down|idle~')" -eq "$1" ]
}

@test "a job for a node that sleeps: it is woken, and the job is released when it is up" {
    local job
    scontrol update nodename='node[1-3]' state=power_down
    within 300 asleep 3
    job=$(hand_in 1 --gres=gpu:1)
    within 600 stored_is "$job" state 'done'
    [ "$(of_job "$job" JobState)" = COMPLETED ]
    stored_is "$job" attempt 1
    asleep 2
}

@test "paused, jobs that run go on and end, others wait, beyond a restart too, until it goes on" {
    local first second
    first=$(hand_in 4 --gres=gpu:1)
    within 200 is "$first" RUNNING
    "$CORGI_BIN/corgi" policy set paused=yes
    second=$(hand_in 1 --gres=gpu:1)
    "$CORGI_BIN/corgi" queue 2>&1 | grep -q "paused: nothing is started"
    corgid_kill
    corgid_start
    within 200 is "$first" COMPLETED
    within 100 stored_is "$first" state 'done'
    sleep 2
    is "$second" PENDING
    "$CORGI_BIN/corgi" policy show | grep -q 'paused *true'
    "$CORGI_BIN/corgi" policy set paused=no
    within 300 stored_is "$second" state 'done'
    run -0 "$CORGI_BIN/corgi" queue
    [[ "$output" != *paused* ]]
}
