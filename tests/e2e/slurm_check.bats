#!/usr/bin/env bats
# corgi slurm check: what of slurm.conf is fine, what must change, and why.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash

setup() {
    slurm_needed
    export SLURM_LAB=
}

teardown() {
    slurm_stop
}

verdict() { # SETTING: of the last run with --json
    jq -r --arg setting "$1" '.[] | select(.setting == $setting) | .verdict' <<< "$output"
}

@test "a Slurm that is fit for advice: nothing for advice, what control would need is named" {
    slurm_start
    run -0 "$CORGI_BIN/corgi" slurm check
    [[ "$output" == *"0 before its advice can be trusted"* ]]
    run -0 --separate-stderr "$CORGI_BIN/corgi" slurm check --json
    [ "$(verdict PrivateData)" = fine ]
    [ "$(verdict JobSubmitPlugins)" = "for control" ]
    [ "$(verdict SuspendTime)" = "for control" ]
    [ "$(verdict 'GPU type' | sort -u)" = fine ]
}

@test "hidden jobs and unknown GPU types must change before advice, and slurm.types helps" {
    NODES=2 TYPES="gizmo v100" SHARDS=0 EXTRA=$'PrivateData=jobs\nMinJobAge=5' slurm_start
    run -1 --separate-stderr "$CORGI_BIN/corgi" slurm check --json
    [ "$(verdict PrivateData)" = "for advice" ]
    [ "$(verdict MinJobAge)" = "for advice" ]
    [ "$(verdict 'GPU type' | sort | tr '\n' ' ')" = "fine for advice " ]
    [ "$(verdict Nodes)" = "for control" ] # no shards
    grep -q 'slurm.types: {gizmo: CARD}' <<< "$output"
    echo 'slurm: {types: {gizmo: t4}}' > "$BATS_TEST_TMPDIR/c.yaml"
    run -1 --separate-stderr "$CORGI_BIN/corgi" slurm check --json --config "$BATS_TEST_TMPDIR/c.yaml"
    [ "$(verdict 'GPU type' | sort -u)" = fine ]
}

@test "no Slurm, no helper: a sentence" {
    run -1 "$CORGI_BIN/corgi" slurm check --helper /nonexistent
    [[ "$output" == *"cannot ask Slurm: the helper does not start"* ]]
    run -1 "$CORGI_BIN/corgi" slurm check --helper "unix:$BATS_TEST_TMPDIR/none"
    [[ "$output" == *"no helper listens at"* ]]
}
