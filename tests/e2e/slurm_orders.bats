#!/usr/bin/env bats
# What corgi-engine-slurm does to a real Slurm when it is told to: one request, one change.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash

setup_file() {
    slurm_needed
    POWER=1 slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
}

# order JSON-MEMBERS: the answer to one request
order() {
    { printf '{"id":1,"within_s":8,%s}\n' "$1" && sleep "${2:-1}"; } |
        timeout 20 "$CORGI_BIN/corgi-engine-slurm" 2> "$BATS_TEST_TMPDIR/log" 3>&-
}

of_job() { # JOB KEY
    scontrol show job "$1" | sed -n "s/.*\b$2=\([^ ]*\).*/\1/p" | head -n 1
}

is() { # JOB STATE
    [ "$(of_job "$1" JobState)" = "$2" ]
}

node_is() { # NODE STATE
    sinfo -h -n "$1" -o %T | grep -qx "$2"
}

@test "one order places and releases a job that is held" {
    local job
    job=$(batch 30 --hold --gres=gpu:1)
    run -0 order "\"op\":\"update_job\",\"job\":\"$job\",\"nodes\":\"node3\",\"release\":true,\"admin_comment\":\"ours\""
    jq -e .ok <<< "$output"
    within 150 is "$job" RUNNING
    [ "$(of_job "$job" NodeList)" = node3 ]
    [ "$(of_job "$job" AdminComment)" = ours ]
    run -0 order "\"op\":\"cancel\",\"job\":\"$job\""
    jq -e .ok <<< "$output"
    within 100 is "$job" CANCELLED
    run -0 order "\"op\":\"cancel\",\"job\":\"$job\"" # once more is no error
    jq -e .ok <<< "$output"
}

@test "an order for a job with a mark touches no other job" {
    local job array
    local mark=corgi1:0123456789abcdef0123456789abcdef0123456789abcdef00000000000000aa
    job=$(batch 30 --hold --gres=gpu:1)
    run -0 order "\"op\":\"update_job\",\"job\":\"$job\",\"mark\":\"00000000000000aa\",\"release\":true"
    [ "$(jq -r .code <<< "$output")" = foreign ]
    run -0 order "\"op\":\"cancel\",\"job\":\"$job\",\"mark\":\"00000000000000aa\""
    [ "$(jq -r .code <<< "$output")" = foreign ]
    is "$job" PENDING
    [ "$(of_job "$job" Priority)" = 0 ]
    scontrol update job="$job" admincomment="theirs $mark:{}"
    run -0 order "\"op\":\"update_job\",\"job\":\"$job\",\"mark\":\"00000000000000ab\",\"release\":true"
    [ "$(jq -r .code <<< "$output")" = foreign ]
    run -0 order "\"op\":\"update_job\",\"job\":\"$job\",\"mark\":\"00000000000000aa\",\"release\":true"
    jq -e .ok <<< "$output"
    array=$(batch 30 --hold --gres=gpu:1 --array=1-3)
    scontrol update job="$array" admincomment="$mark:{}"
    run -0 order "\"op\":\"update_job\",\"job\":\"${array}_2\",\"mark\":\"00000000000000aa\",\"release\":true"
    jq -e .ok <<< "$output"
    within 150 is "${array}_2" RUNNING
    run -0 order "\"op\":\"cancel\",\"job\":\"${array}_2\",\"mark\":\"00000000000000ab\""
    [ "$(jq -r .code <<< "$output")" = foreign ]
    run -0 order "\"op\":\"cancel\",\"job\":\"${array}_2\",\"mark\":\"00000000000000aa\""
    jq -e .ok <<< "$output"
    scancel "$job" "$array"
}

@test "a job that runs goes back on hold and starts elsewhere" {
    local job
    job=$(batch 60 -w node1 --gres=gpu:1)
    within 150 is "$job" RUNNING
    run -0 order "\"op\":\"requeue\",\"job\":\"$job\""
    jq -e .ok <<< "$output"
    within 150 is "$job" PENDING
    [ "$(of_job "$job" Priority)" = 0 ]
    run -0 order "\"op\":\"update_job\",\"job\":\"$job\",\"nodes\":\"node4\",\"release\":true"
    jq -e .ok <<< "$output"
    within 300 is "$job" RUNNING
    [ "$(of_job "$job" NodeList)" = node4 ]
    scancel "$job"
}

@test "elements of an array are placed one by one" {
    local array
    array=$(batch 30 --hold --gres=gpu:1 --array=1-3)
    run -0 order "\"op\":\"update_job\",\"job\":\"${array}_2\",\"nodes\":\"node2\",\"release\":true"
    jq -e .ok <<< "$output"
    within 150 is "${array}_2" RUNNING
    [ "$(squeue -h -j "${array}_2" -o %N)" = node2 ]
    [ "$(squeue -h -r -j "$array" -t PD -o %i | wc -l)" -eq 2 ]
    scancel "$array"
}

@test "a job is handed in as its user, on hold, and its batch script gets signals" {
    local job out=$SLURM_LAB/signalled
    cat > "$BATS_TEST_TMPDIR/job.sh" << END
#!/bin/bash
trap 'echo heard \$MARK > $out; exit 7' USR1
for i in {1..600}; do sleep 0.1; done
END
    run -0 order "$(jq -nc --rawfile script "$BATS_TEST_TMPDIR/job.sh" '{op: "submit", uid: 65534,
        gid: 65534, directory: "/tmp", name: "ours", output: "/dev/null", gres: "gres:gpu:1",
        environment: ["PATH=/usr/bin:/bin", "MARK=x"], script: $script}' | sed 's/^{//; s/}$//')"
    job=$(jq -r .submit.job <<< "$output")
    [ "$(of_job "$job" JobState)" = PENDING ]
    [ "$(of_job "$job" Priority)" = 0 ]
    [[ "$(of_job "$job" UserId)" == *"(65534)" ]]
    touch "$out" && chmod 666 "$out"
    order "\"op\":\"update_job\",\"job\":\"$job\",\"release\":true"
    within 150 is "$job" RUNNING
    sleep 1
    run -0 order "\"op\":\"signal\",\"job\":\"$job\",\"signal\":10"
    jq -e .ok <<< "$output"
    within 100 is "$job" FAILED
    [ "$(of_job "$job" ExitCode)" = 7:0 ]
    [ "$(< "$out")" = "heard x" ]
}

@test "nodes sleep, wake and are drained" {
    order '"op":"update_node","node":"node2","state":"drain","reason":"hot"'
    within 50 node_is node2 drained
    order '"op":"update_node","node":"node2","state":"undrain"'
    within 50 node_is node2 idle
    order '"op":"update_node","node":"node2","state":"power_down"'
    within 200 node_is node2 'powered_down\|idle~'
    order '"op":"update_node","node":"node2","state":"power_up"'
    within 300 node_is node2 idle
}

@test "what cannot be meant is refused with a sentence, and Slurm's refusals are told" {
    local before
    before=$(squeue -h -t all -o "%i %T %Q" | md5sum)
    while IFS='|' read -r request says; do
        run -0 order "$request" 0.5
        [[ "$(jq -r .error <<< "$output")" == *"$says"* ]] || {
            echo "$request: $output, not $says"
            return 1
        }
        jq -e '.ok | not' <<< "$output"
    done << 'END'
"op":"update_job","job":"1;2"|a job is a number
"op":"update_job","job":7|a job is a number
"op":"update_job","job":"7","hold":true,"release":true|exclude each other
"op":"update_job","job":"7","nodes":"node[1-3]"|with commas between
"op":"update_job","job":"7","admin_comment":"a\u0007b"|control character
"op":"update_job","job":"999999","release":true|Invalid job id
"op":"requeue","job":"999999"|Invalid job id
"op":"signal","job":"7","signal":99|from 1 to 64
"op":"update_node","node":"node1","state":"off"|power_down, power_up
"op":"update_node","node":"node1,node2","state":"drain"|one node
"op":"update_node","node":"nobody","state":"drain","reason":"x"|Invalid node name
"op":"submit","script":"#!/bin/sh","directory":"/"|the uid and the gid
"op":"submit","uid":1,"gid":1,"script":"true","directory":"/"|begins with #!
"op":"submit","uid":1,"gid":1,"script":"#!/bin/sh","directory":"here"|whole path
"op":"submit","uid":1,"gid":1,"script":"#!/bin/sh","directory":"/","environment":["x"]|NAME=VALUE
"op":"submit","uid":1,"gid":1,"script":"#!/bin/sh","directory":"/","partition":"nowhere"|Invalid partition
END
    [ "$before" = "$(squeue -h -t all -o "%i %T %Q" | md5sum)" ]
}
