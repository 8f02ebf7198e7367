#!/usr/bin/env bats
# A real Slurm with slurmdbd and no jobcomp: what became of jobs that Slurm has forgotten is asked of
# slurmdbd; one that is away is no word about a job.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    export DBD=1
    slurm_needed
    NODES=2 SHARDS=0 MIN_JOB_AGE=20 slurm_start_managed
    managed_script
    cat > "$SLURM_LAB/fails.sh" << END
#!/bin/bash
exit 7
END
    chmod 755 "$SLURM_LAB/fails.sh"
}

teardown_file() {
    slurm_stop
}

setup() {
    [ -z "${SLURM_LAB:-}" ] || "$SLURM_CLUSTER" dbd "$SLURM_LAB" 2> /dev/null 3>&- || true
    managed_setup
}

teardown() {
    [ -z "${SLURM_LAB:-}" ] || end_dbd CONT || true
    managed_teardown
}

forgotten() { # JOB
    ! scontrol show job "$1" > /dev/null 2>&1
}

# slurmdbd has the end of a job; slurmctld tells it some seconds later.
accounted() { # JOB
    [[ "$(sacct -n -X -P -o end,jobname -j "$1")" != @(*Unknown*|*allocation|"") ]]
}

# The helper's answers to these, as a list, when it has had so many seconds for them.
ask() { # SECONDS REQUEST...
    local seconds=$1
    shift
    { printf '%s\n' '{"id":1,"op":"hello","version":1}' "$@" && sleep "$seconds"; } |
        timeout 60 "$CORGI_BIN/corgi-engine-slurm" --read-only 2> /dev/null 3>&- | jq -s -c .
}

ended() { # MEMBERS [ID]: a request
    echo "{\"id\":${2:-2},\"op\":\"ended\",$1}"
}

end_dbd() { # [SIGNAL]
    kill "-${1:-TERM}" "$(cat "$SLURM_LAB/run/slurmdbd.pid")" 2> /dev/null
}

@test "what ended while the daemon was away is asked of slurmdbd, as soon as that answers; nothing runs twice" {
    local runs fails ours job
    runs=$(hand_in 4 --gres=gpu:1)
    ours=$(submit 4)
    within 100 entered "$ours"
    fails=$(sbatch --parsable -o /dev/null --gres=gpu:1 "$SLURM_LAB/fails.sh" 2> /dev/null 3>&-)
    within 200 is "$runs" RUNNING
    within 200 is "$(slurm_id "$ours")" RUNNING
    within 200 [ "$(stored "$fails" state)" != waiting ]
    corgid_kill
    for job in "$runs" "$(slurm_id "$ours")" "$fails"; do
        within 600 forgotten "$job"
        within 300 accounted "$job"
    done
    end_dbd
    corgid_start
    within 600 grep -q 'slurmdbd does not answer' "$CORGID_DIR/log" # half a minute gone, then it is looked up
    sleep 3
    stored_is "$runs" state running # nobody knows
    "$SLURM_CLUSTER" dbd "$SLURM_LAB" 3>&-
    within 300 stored_is "$runs" state 'done'
    within 5 wait_state "$ours" 'done'
    within 100 stored_is "$fails" state failed
    stored_is "$fails" exit_status 7
    sleep 2
    [ "$(grep -c ^begin ran)" -eq 2 ]
    queue_is_empty
}

@test "the helper's request: found, not there, an error while slurmdbd is away or hangs" {
    local job later
    job=$(sbatch --parsable -p other -J 'a name' -o /dev/null --gres=gpu:1 "$SLURM_LAB/fails.sh" 3>&-)
    later=$(($(date +%s) + 100))
    within 300 accounted "$job"
    run ask 2 "$(ended "\"job\":\"$job\",\"since_s\":0")"
    echo "$output"
    jq -e '.[1] | .ok and .ended.state == "FAILED" and .ended.exit_status == 7 and .ended.name == "a name" and
        .ended.uid == '"$(id -u)" <<< "$output"
    # a job that was alive later, or was submitted later, is another one of this number
    run ask 2 "$(ended "\"job\":\"$job\",\"since_s\":$later" 2)" "$(ended "\"job\":\"$job\",\"submit_s\":$later" 3)" \
        "$(ended '"job":"999999"' 4)"
    echo "$output"
    jq -e '[.[1:][] | .ok and .ended == {}] == [true, true, true]' <<< "$output"
    end_dbd STOP # connections are made, and nothing comes back
    job="\"job\":\"$job\",\"within_s\":60"
    run ask 9 "$(ended "${job/60/1}" 2)" "$(ended "$job" 3)" "$(ended "$job" 4)" "$(ended "$job" 5)" "$(ended "$job" 6)" \
        '{"id":7,"op":"nodes","within_s":8}'
    echo "$output"
    end_dbd CONT
    jq -e '.[] | select(.id == 2) | .ok == false and .code == "late"' <<< "$output"
    # one of them waits for slurmdbd, the others do not wait behind it
    jq -e '[.[] | select(.id >= 3 and .id <= 6) | .code] | length >= 3 and all(. == "busy")' <<< "$output"
    jq -e '.[] | select(.id == 7) | .ok and (.rows | length) == 2' <<< "$output" # nor does anything else
    end_dbd
    sleep 1
    run ask 4 "$(ended "$job")"
    echo "$output"
    jq -e '.[1] | .ok == false and .code == "slurm" and (.error | startswith("slurmdbd does not answer: "))' <<< "$output"
}

@test "corgi slurm check says which book of ends there is" {
    run "$CORGI_BIN/corgi" slurm check
    echo "$output"
    [[ "$output" == *"AccountingStorageType"*"tells ends that Slurm has forgotten, while slurmdbd answers"* ]]
}

why_says() { # SLURM'S JOB, WORDS
    [[ "$("$CORGI_BIN/corgi" why "$(stored "$1" id)")" == *"$2"* ]]
}

@test "a QOS has a quota, and a job that is moved to another account counts there" {
    local long second third mine
    sacctmgr -i add qos low > /dev/null
    sacctmgr -i add account physics chem > /dev/null
    sacctmgr -i add user "$(id -un)" account=physics,chem > /dev/null
    sacctmgr -i modify user "$(id -un)" set qos=normal,low > /dev/null
    corgid_stop
    printf '%s\n' 'quotas:' '  - {qos: low, max_running: 1}' '  - {account: physics, max_running: 0}' >> "$CORGID_DIR/c.yaml"
    corgid_start
    long=$(hand_in 60 --gres=gpu:1 --qos=low -A chem)
    within 200 is "$long" RUNNING
    second=$(hand_in 1 --gres=gpu:1 --qos=low -A chem)
    third=$(hand_in 1 --gres=gpu:1 -A physics)
    within 200 stored_is "$third" state waiting
    within 100 why_says "$second" "waits: QOS low has as much running as allowed"
    within 100 why_says "$third" "waits: account physics has as much running as allowed"
    scontrol update job="$third" account=chem
    within 200 is "$third" COMPLETED
    mine=$(submit 1 --account chem --qos low)
    within 100 entered "$mine"
    [ "$(of_job "$(slurm_id "$mine")" Account)" = chem ]
    [[ "$(scontrol show job "$(slurm_id "$mine")")" == *"QOS=low"* ]]
    scancel "$long"
    within 300 wait_state "$mine" 'done'
}
