#!/usr/bin/env bats
# A real Slurm whose partition `main` is managed, with quotas and parts of the cluster for accounts
# and partitions: they hold for the jobs of which Slurm says these.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=2 SHARDS=0 slurm_start_managed
    managed_script
}

teardown_file() {
    slurm_stop
}

setup() {
    managed_setup "" 'quotas:' \
        '  - {account: physics, max_running: 1, max_jobs: 3}' \
        '  - {account: nobody_has_it, max_jobs: 0}' \
        '  - {partition: main, max_gpus: 3}' \
        'shares:' \
        '  - {account: physics, weight: 3}' \
        '  - {account: chem}'
}

teardown() {
    managed_teardown
}

why_says() { # SLURM'S JOB, WORDS
    [[ "$("$CORGI_BIN/corgi" why "$(stored "$1" id)")" == *"$2"* ]]
}

# What /v1/quotas tells, by a jq expression.
quotas_hold() {
    "$CORGI_BIN/corgi" quota list --json | jq -e "$1" > /dev/null
}

@test "jobs of an account beyond its quota wait and say so; corgi submit is refused" {
    local long second third fourth chem mine
    long=$(hand_in 60 --gres=gpu:1 -A physics)
    within 200 is "$long" RUNNING
    second=$(hand_in 1 --gres=gpu:1 -A physics)
    third=$(hand_in 1 --gres=gpu:1 -A physics)
    fourth=$(hand_in 1 --gres=gpu:1 -A physics)
    chem=$(hand_in 1 --gres=gpu:1 -A chem)
    within 200 is "$chem" COMPLETED
    is "$second" PENDING
    within 100 why_says "$second" "waits: account physics has as much running as allowed"
    within 100 why_says "$fourth" "waits: account physics may have 3 jobs waiting or running and has them"
    run -1 "$CORGI_BIN/corgi" submit --account physics -- true
    [[ "$output" == *"account physics may have 3 jobs waiting or running and has them"* ]]
    mine=$(submit 1 --account chem)
    within 100 entered "$mine"
    [ "$(of_job "$(slurm_id "$mine")" Account)" = chem ]
    quotas_hold '.quotas[] | select(.user == "account:physics") |
        .max_running == 1 and .max_jobs == 3 and .jobs == 4 and .running == 1 and .gpus == 1 and .weight == 3'
    quotas_hold '.quotas[] | select(.user == "account:nobody_has_it") | .jobs == 0 and .had == null'
    # a row for each account of one user, and columns that stand under each other
    quotas_hold "[.quotas[] | select(.user == \"$(id -un)\") | .account] | contains([\"physics\", \"chem\"])"
    run "$CORGI_BIN/corgi" quota list
    echo "$output"
    [ "$(awk '{ print length($0) }' <<< "$output" | sort -u | wc -l)" -eq 1 ]
    scancel "$long"
    within 300 is "$fourth" COMPLETED
    is "$second" COMPLETED
    is "$third" COMPLETED
}

@test "a partition's quota bounds GPUs; a quota that is set goes before the config" {
    local first second
    first=$(hand_in 60 --gres=gpu:2)
    within 200 is "$first" RUNNING
    second=$(hand_in 1 --gres=gpu:2)
    within 100 why_says "$second" "waits: partition main has as much running as allowed"
    is "$second" PENDING
    "$CORGI_BIN/corgi" quota set partition:main --gpus 4
    within 200 is "$second" COMPLETED
    kill -HUP "$CORGID_PID"
    quotas_hold '.quotas[] | select(.user == "partition:main") | .max_gpus == 4'
}

@test "what a job belongs to is known after a restart, and what was had of an account" {
    local long waits
    long=$(hand_in 60 --gres=gpu:1 -A physics)
    within 200 is "$long" RUNNING
    waits=$(hand_in 1 --gres=gpu:1 -A physics)
    within 100 stored_is "$waits" state waiting
    within 100 why_says "$waits" "account physics has as much running as allowed"
    [[ "$("$CORGI_BIN/corgi" show "$(stored "$waits" id)")" == *"account "*physics* ]]
    corgid_stop
    corgid_start
    within 100 why_says "$waits" "account physics has as much running as allowed"
    quotas_hold '.quotas[] | select(.user == "account:physics") | .jobs == 2 and .running == 1'
    sleep 3 # a daemon counts from its first round on
    scancel "$long"
    within 200 is "$waits" COMPLETED
    quotas_hold ".quotas[] | select(.user == \"$(id -un)\" and .account == \"physics\") |
        .gpu_s > 1 and .gpu_s < 60"
    # the entry is taken out while a job runs there: what was had of it, and what is, is the user's own
    long=$(hand_in 60 --gres=gpu:1 -A physics)
    within 200 is "$long" RUNNING
    sed -i '/^shares:/,$d' "$CORGID_DIR/c.yaml"
    kill -HUP "$CORGID_PID"
    within 100 quotas_hold "[.quotas[] | select(.user == \"$(id -un)\")] | length == 1 and
        (.[0].account == null and .[0].gpu_s > 1 and .[0].due == 1)"
    quotas_hold 'all(.quotas[]; .user != "account:physics" or .gpu_s == null)'
    "$CORGI_BIN/corgi" cancel "$(stored "$long" id)"
    within 100 stored_is "$long" state cancelled
}

@test "an account that is none, and a partition that Corgi has no control of" {
    run -1 "$CORGI_BIN/corgi" submit --partition other -- true
    [[ "$output" == *"partition"*"see slurm.partitions"* ]]
    printf 'quotas:\n  - {account: physics}\n' > "$CORGID_DIR/wrong.yaml"
    run -1 "$CORGI_BIN/corgi" config check --kind daemon "$CORGID_DIR/wrong.yaml"
    [[ "$output" == *"wrong.yaml:2: quotas: "* ]]
}

@test "a job that waits in a partition of Slurm's own takes no room of a quota" {
    local other mine
    other=$(hand_in 1 -p other --gres=gpu:1 -A physics --begin=now+1hour)
    within 100 stored_is "$other" state waiting
    mine=$(hand_in 1 --gres=gpu:1 -A physics)
    within 200 is "$mine" COMPLETED
    run why_says "$other" "account physics"
    [ "$status" -ne 0 ]
}

@test "a job that was over its quota and is let go to Slurm is its scheduler's" {
    local long waits
    long=$(hand_in 60 --gres=gpu:1 -A physics)
    within 200 is "$long" RUNNING
    waits=$(hand_in 30 --gres=gpu:1 -A physics)
    within 100 stored_is "$waits" state waiting
    within 100 why_says "$waits" "account physics has as much running as allowed"
    [ "$(api GET /v1/jobs | jq '[.jobs[] | select(.reason_code == "quota")] | length')" -eq 1 ]
    scontrol release "$waits" # an operator's word
    within 200 is "$waits" RUNNING
    within 100 stored_is "$waits" state running
    [[ "$("$CORGI_BIN/corgi" quota list --json | jq '.quotas[] | select(.user == "account:physics") | .running')" == 2 ]]
}
