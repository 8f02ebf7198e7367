#!/usr/bin/env bats
# What operators get wrong under Corgi's hand: one sentence each that says what to do, and jobs that wait
# go on waiting.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=2 SHARDS=0 slurm_start_managed
    managed_script
}

setup() {
    CORGID_DIR=
}

helper_as() { # NAME LINE...: a helper that is this script
    printf '%s\n' '#!/bin/sh' "${@:2}" > "$SLURM_LAB/$1"
    chmod 755 "$SLURM_LAB/$1"
    echo "$SLURM_LAB/$1"
}

@test "a helper without rights: it is said once, jobs stay on hold, and run when it has them" {
    local job helper
    helper=$(helper_as nobody 'cd /' "exec runuser -u nobody -- env SLURM_CONF=$SLURM_CONF $CORGI_BIN/corgi-engine-slurm \"\$@\"")
    managed_setup "helper: $helper"
    job=$(hand_in 1 --gres=gpu:1)
    within 200 grep -q "run the daemon and its helper as root or as SlurmUser" "$CORGID_DIR/log"
    sleep 3
    is "$job" PENDING
    stored_is "$job" state waiting
    api GET /v1/summary | grep -q "as root or as SlurmUser"
    "$CORGI_BIN/corgi" queue | grep -q "as root or as SlurmUser"
    corgid_stop
    sed -i "/helper:/s|, helper: $helper||" "$CORGID_DIR/c.yaml"
    corgid_start
    within 300 stored_is "$job" state 'done'
}

@test "a slurm.conf that is none: the daemon ends with a sentence" {
    corgid_folder
    echo 'this is not slurm.conf' > "$CORGID_DIR/slurm.conf"
    cat > "$CORGID_DIR/c.yaml" << END
engine: slurm
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
slurm: {mode: control, partitions: [main], within: 1s}
END
    run -1 env SLURM_CONF="$CORGID_DIR/slurm.conf" timeout 60 "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml"
    [[ "$output" == *"Slurm cannot be reached"*"corgi slurm check"* ]]
}

@test "settings that cannot be meant are refused with a sentence" {
    local line
    corgid_folder
    while IFS='|' read -r line sentence; do
        printf 'engine: slurm\nstate: %s\nlisten: {socket: %s}\nslurm: %s\n' "$CORGID_DIR/state" "$CORGID_SOCKET" "$line" > "$CORGID_DIR/c.yaml"
        run ! timeout 20 "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml"
        [[ "$output" == *"$sentence"* ]] || { echo "$line: $output" && return 1; }
    done << 'END'
{mode: control}|slurm.partitions names none
{mode: control, partitions: ["a b"]}|no name of a partition
{mode: control, partitions: [main], cap_program: capper}|whole path
{mode: control, partitions: [main], probe: corgi-probe}|whole path
{mode: control, partitions: [main], report: "https://corgi:8421"}|without slurm.probe
{mode: control, partitions: [main], types: {tesla: warp9}}|warp9
{mode: drive, partitions: [main]}|advise
END
}

@test "with SuspendTime=INFINITE nothing sleeps, the check says what to change, and jobs run" {
    local job
    managed_setup "sleep: true"
    run "$CORGI_BIN/corgi" slurm check
    [[ "$output" == *"INFINITE switches power control off"* ]]
    job=$(hand_in 1 --gres=gpu:1)
    within 300 is "$job" COMPLETED
    run ! grep -q power_down "$CORGID_DIR/log"
    [ "$(sinfo -h -N -p main -o %T | sort -u)" = idle ]
}
