#!/usr/bin/env bats
# job_submit/corgi in a real slurmctld: whose jobs it takes, what it refuses, what stays the
# user's.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    NODES=2 slurm_start_managed
}

teardown_file() {
    slurm_stop
}

teardown() {
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

setup() {
    CORGID_DIR=
    [ -n "${SLURM_LAB:-}" ] || skip "there is no Slurm with the plugin here"
    cd "$SLURM_LAB" || return 1
}

# Hand in the script of standard input; prints what sbatch says.
hand_in() { # [OPTION...]
    cat > "$BATS_TEST_TMPDIR/job.sh"
    sbatch -o "$BATS_TEST_TMPDIR/out" "$@" "$BATS_TEST_TMPDIR/job.sh" 3>&-
}

number() { # of the last run
    sed -n 's/^Submitted batch job //p' <<< "$output"
}

of_job() { # JOB KEY
    scontrol show job "$1" | sed -n "s/.*\b$2=\([^ ]*\).*/\1/p" | head -n 1
}

as_nobody() {
    (cd /tmp && runuser -u nobody -- env SLURM_CONF="$SLURM_CONF" "$@" 3>&-)
}

ended() { # JOB
    [[ $(of_job "$1" JobState) =~ COMPLETED|FAILED|CANCELLED ]]
}

@test "a job of a managed partition is held, and marked with what it asks for" {
    run -0 hand_in << 'END'
#!/bin/bash
#CORGI --min-rate 40 --family LSTM
echo "token $CORGI_JOB_TOKEN"
END
    [[ "$output" == *"corgi: held until Corgi has a place for it"* ]]
    job=$(number)
    [ "$(of_job "$job" JobState)" = PENDING ]
    [ "$(of_job "$job" Priority)" = 0 ]
    comment=$(of_job "$job" AdminComment)
    [[ "$comment" == corgi1:*'"need":{"kind":"rate","rate":40}'* ]]
    scontrol release "$job" # root may; what the job holds is what Slurm has the digest of
    within 300 ended "$job"
    [ "$(of_job "$job" JobState)" = COMPLETED ]
    token=$(sed -n 's/^token //p' "$BATS_TEST_TMPDIR/out")
    [ ${#token} -eq 48 ]
    [ "$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)" = "$(cut -d : -f 2 <<< "$comment")" ]
}

@test "a comment says what a job without a header asks for" {
    run -0 sbatch -o /dev/null --comment='corgi: --min-rate 3' --wrap true
    [[ "$(of_job "$(number)" AdminComment)" == *'"rate":3'* ]]
    scancel "$(number)"
}

@test "a wrong line is refused in the user's terminal, with line and reason" {
    run -1 hand_in << 'END'
#!/bin/bash
#CORGI --min-rate forty
true
END
    [[ "$output" == *"corgi: script line 2: option --min-rate takes a number"* ]]
    run -1 sbatch -p main,other --wrap true
    [[ "$output" == *"some of these partitions are Corgi's"* ]]
    run -1 sbatch --comment=$'corgi: --name \e[2J' --wrap true
    [[ "$output" == *"no text"* ]]
}

@test "a header of a megabyte is refused, and slurmctld lives" {
    {
        echo '#!/bin/bash'
        yes '#CORGI --min-rate 4' | head -n 50000
    } > "$BATS_TEST_TMPDIR/long.sh"
    run -1 sbatch "$BATS_TEST_TMPDIR/long.sh"
    [[ "$output" == *"too many such lines"* ]]
    scontrol ping | grep -q UP
}

@test "control characters in a comment are refused with a sentence, and slurmctld lives" {
    run ! sbatch -o /dev/null --comment=$'corgi: --name \e[2Jx\a' --wrap true
    [[ "$output" == *"corgi: "* ]]
    [[ "$output" != *$'\e'* && "$output" != *$'\a'* ]]
    run -0 sbatch -o /dev/null --comment=$'mine\e[2J' --wrap true # not for us
    [[ "$(of_job "$(number)" AdminComment)" == corgi1:* ]]
    scancel "$(number)"
    scontrol ping | grep -q UP
}

@test "other partitions pass untouched" {
    run -0 hand_in -p other << 'END'
#!/bin/bash
#CORGI --min-rate forty
true
END
    [[ "$output" != *corgi:* ]]
    job=$(number)
    [ -z "$(of_job "$job" AdminComment)" ]
    within 300 ended "$job"
    run -0 as_nobody sbatch -H -p other -o /dev/null --wrap true
    job=$(number)
    as_nobody scontrol release "$job"
    within 300 ended "$job"
}

@test "users cannot release or pin what is held; hold, limits and cancel stay theirs" {
    run -0 as_nobody sbatch -o /dev/null --wrap true
    job=$(number)
    run ! as_nobody scontrol release "$job"
    run ! as_nobody scontrol update job="$job" nodelist=node2
    run ! as_nobody scontrol update job="$job" partition=other
    [ "$(of_job "$job" JobState)" = PENDING ]
    [ "$(of_job "$job" Priority)" = 0 ]
    as_nobody scontrol hold "$job"
    as_nobody scontrol update job="$job" timelimit=5
    as_nobody scancel "$job"
    within 50 ended "$job"
}

@test "settings are read anew, and a wrong file changes nothing" {
    echo 'Partitions=main,' > "$CORGI_SLURM_PLUGIN_CONF" # without the default one
    run -0 sbatch -o /dev/null --wrap true
    [[ "$output" != *corgi:* ]]
    sleep 0.02
    printf 'Partitions=main\nHold=perhaps\n' > "$CORGI_SLURM_PLUGIN_CONF"
    run -0 sbatch -o /dev/null -p main --wrap true
    [[ "$output" == *"corgi: held"* ]]
    scancel "$(number)"
    grep -q 'Hold is yes or no' "$SLURM_LAB/log/slurmctld"
    sleep 0.02
    printf 'Partitions=main\nDefault=yes\nHold=no\n' > "$CORGI_SLURM_PLUGIN_CONF"
    run -0 sbatch -o /dev/null --wrap true
    job=$(number)
    [[ "$output" != *"corgi: held"* ]]
    [[ "$(of_job "$job" AdminComment)" == corgi1:* ]]
    within 300 ended "$job"
}

knows() { # NAME
    api GET '/v1/jobs?state=active' | jq -e --arg name "$1" '.jobs[] | select(.name == $name)'
}

@test "a daemon that watches knows what jobs ask for" {
    printf 'Partitions=main\nDefault=yes\n' > "$CORGI_SLURM_PLUGIN_CONF"
    advisor_folder
    corgid_start
    run -0 hand_in --gres=gpu:1 -J asks << 'END'
#!/bin/bash
#CORGI --min-rate 40 --family LSTM --batch 128 --steps 1e6 --types v100
true
END
    sbatch -J silent -o /dev/null --gres=gpu:1 --wrap true 3>&-
    within 200 knows asks
    within 200 knows silent
    id=$(knows asks | jq .id)
    run -0 api GET "/v1/jobs/$id"
    [ "$(jq -r '.need.kind, .need.rate, .descriptor.family, .descriptor.batch, .total_steps, .types[0]' <<< "$output" |
        paste -s -d ' ')" = "rate 40 LSTM 128 1000000 v100-16" ]
    [ "$(knows silent | jq -r .need.kind)" = best_effort ]
    scancel -n asks -n silent
    scancel --user="$(id -un)"
}
