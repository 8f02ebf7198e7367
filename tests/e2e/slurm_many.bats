#!/usr/bin/env bats
# The short form of tests/chaos/slurm_many: both ways in, arrays, gangs, jobs that do not share and a
# foreign partition, all where they were planned.  How long it takes is for the long form to judge.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash

setup() {
    slurm_needed
    [ -e "$(dirname "$CORGI_BIN")/lib/job_submit_corgi.so" ] || skip "job_submit_corgi.so was not built: there is no libslurm-dev"
}

@test "40 jobs of all kinds run once, on the node and GPU of the plan" {
    run -0 timeout 300 "$BATS_TEST_DIRNAME/../chaos/slurm_many" --jobs 40 --seconds 1 3>&-
    echo "$output"
    [[ "$output" == *"most at once: 2"* ]]
    grep -qx 40 <<< "$output"
}
