#!/usr/bin/env bats
# The advisor beside a real Slurm: the record is Slurm's, and nothing is changed.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    POWER=1 GPUS=4 slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    CORGID_DIR=
}

teardown() {
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

# A helper that writes down what is said on its line.
recording_helper() {
    cat > "$CORGID_DIR/helper" << END
#!/bin/bash
# cat: the helper makes its end not wait, which tee must not share
tee -a $CORGID_DIR/requests | $CORGI_BIN/corgi-engine-slurm "\$@" | cat
END
    chmod 755 "$CORGID_DIR/helper"
}

# 200 jobs of every kind, some cancelled, held, queued again or failing.
hand_in() {
    local script job
    script=$(ran_script)
    for _ in $(seq 20); do
        sbatch --parsable -o /dev/null --gres=gpu:1 "$script" 1
        sbatch --parsable -o /dev/null --gres=gpu:1 "$script" 1.5 3
        sbatch --parsable -o /dev/null --gres=shard:1 "$script" 1
        sbatch --parsable -o /dev/null --gres=shard:1 "$script" 1.2
        sbatch --parsable -o /dev/null --gpus=1 -J "train" "$script" 1
        sbatch --parsable -o /dev/null --gres=gpu:k80:1 "$script" 1
    done
    for _ in $(seq 10); do
        sbatch --parsable -o /dev/null --gres=gpu:2 "$script" 1
        sbatch --parsable -o /dev/null -N2 --gpus-per-node=1 "$script" 1
        sbatch --parsable -o /dev/null -C v100 --gres=gpu:1 "$script" 1
    done
    sbatch --parsable -o /dev/null --gres=gpu:1 --array=1-38%6 "$script" 1
    array=$(sbatch --parsable -o /dev/null --hold --gres=gpu:1 --array=1-4 "$script" 1)
    for _ in 1 2 3 4 5 6; do
        job=$(sbatch --parsable -o /dev/null --gres=gpu:1 "$script" 60)
        jobs_to_cancel+=("$job")
    done
    for _ in 1 2 3 4 5; do
        job=$(sbatch --parsable -o /dev/null --hold --gres=gpu:1 "$script" 1)
        jobs_to_release+=("$job")
    done
    sbatch --parsable -o /dev/null -J cpu "$script" 1 # without a GPU: none of our business
}

# Nodes as Slurm has them now, "NAME STATE DRAINED" each, in the daemon's words.
nodes_of_slurm() {
    sinfo -h -N -o '%N %T' | sort -u | awk '{
        state = $2 ~ /~$/ ? "asleep" : $2 ~ /[%!]$/ ? "falling_asleep" : $2 ~ /#$/ ? "waking" : "awake"
        print $1, state, $2 ~ /^drain/ ? "true" : "false" }'
}

nodes_agree() {
    [ "$(api GET /v1/nodes | jq -r '.nodes[] | "\(.name) \(.state) \(.drained)"' | sort)" = "$(nodes_of_slurm)" ]
}

slurm_node_is() { # NODE STATE DRAINED
    nodes_of_slurm | grep -qx "$*"
}

# What the store has noted of a node.  On a busy machine a slurmd may not answer for a moment: Slurm has
# the node down then, and so has the store; that is left out.
node_noted() { # NODE
    sqlite3 "$CORGID_DIR/state/corgi.db" "select data from events where kind = 'node' order by id" |
        jq -r "select(.name == \"$1\" and .what != \"down\" and .what != \"up\") | .what" | tr '\n' ' '
}

# While jobs run node2 is drained and node4 powered down, and both come back.
change_nodes() {
    scontrol update nodename=node2 state=drain reason="a fan is broken"
    scontrol update nodename=node4 state=power_down
    within 600 slurm_node_is node4 asleep false
    within 100 nodes_agree
    nodes_of_slurm | grep -qx 'node2 awake true'
    scontrol update nodename=node2 state=resume
    scontrol update nodename=node4 state=power_up
    within 300 slurm_node_is node4 awake false
    within 100 nodes_agree
    nodes_of_slurm | grep -qx 'node2 awake false'
}

@test "200 jobs: every job, place, start, end and node state in the store is Slurm's, and nothing was changed" {
    local job array jobs_to_cancel=() jobs_to_release=()
    seen_running() { [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select state from jobs where key = 'found:$1'")" = running ]; }
    known() { [ -n "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select id from jobs where key = 'found:$1'")" ]; }
    advisor_folder "helper: $(mktemp -u)"
    recording_helper
    sed -i "s|helper: [^}]*|helper: $CORGID_DIR/helper|" "$CORGID_DIR/c.yaml"
    corgid_start
    job=$(sbatch --parsable -o /dev/null --gres=gpu:1 "$(ran_script)" 3) # Slurm queues it again
    within 100 seen_running "$job"
    scontrol requeue "$job"
    hand_in > /dev/null
    scancel "${jobs_to_cancel[@]:0:4}"
    within 50 known "${array}_4"
    scancel "${array}_2" # of which Slurm keeps nothing
    scancel "$array"
    for id in "${jobs_to_release[@]}"; do scontrol release "$id"; done
    scancel "${jobs_to_cancel[@]}"
    change_nodes
    within 900 queue_is_empty
    within 200 record_is_complete
    record_is_right
    within 50 nodes_agree
    [ "$(node_noted node2)" = "drained undrained " ]
    [ "$(node_noted node4)" = "falling_asleep asleep " ]
    [ -z "$(node_noted node1)$(node_noted node3)" ]
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from jobs")" -ge 200 ]
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select attempt from jobs where progress_extra like '%\"ref\":\"$job@%'")" = 2 ]
    # nobody was killed, so nothing was forgotten
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from jobs where reason like '%does not know%'")" = 0 ]
    # whoever was cancelled while it waited, also in an array
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select group_concat(state) from jobs where key like 'found:${array}_%'")" = \
        cancelled,cancelled,cancelled,cancelled ]
    # what would have been done is in the ledger, and only that
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from decisions where what = 'advise_start'")" -gt 0 ]
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from decisions where what not like 'advise_%'")" = 0 ]
    # and by day, with the jobs that have started and those that Corgi would have started sooner
    api GET /v1/advice | jq -e '.watching and (.days | map(.jobs) | add) >= 190 and
        (.days | map(.sooner_jobs) | add) > 0 and (.days | map(.mean_sooner_s // 0) | max) > 0'
    # the same schedule replayed
    CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" advise --policy fifo --draws 3 --json > "$CORGID_DIR/advice.json"
    jq -c '[.replay | .jobs, .energy_error_percent, .ends_error_percent]' "$CORGID_DIR/advice.json"
    jq -e '.replay | .jobs >= 190 and .energy_error_percent < 5 and .ends_error_percent < 5' "$CORGID_DIR/advice.json"
    # the line to the helper, and Slurm's own count of what it was asked by whomever
    [ "$(jq -r .op "$CORGID_DIR/requests" | sort -u | tr '\n' ' ')" = "conf hello jobs nodes partitions reservations " ]
}

@test "as a user without rights: Slurm counts no request that changes anything" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
    local job
    advisor_folder
    chmod 777 "$CORGID_DIR"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$CORGI_BIN/corgid" \
        --config "$CORGID_DIR/c.yaml" 2>> "$CORGID_DIR/log" 3>&- &
    # shellcheck disable=SC2034 # corgid_clean ends it
    CORGID_PID=$!
    within 100 test -S "$CORGID_SOCKET"
    sdiag --reset > /dev/null
    job=$(batch 1 --gres=gpu:1)
    within 50 runs "$job"
    within 100 queue_is_empty
    within 50 record_is_complete
    [ "$(api GET /v1/summary | jq .jobs.done)" -ge 1 ]
    sdiag | sed -n '/by user/,/Pending/p' | grep -q nobody
    # what it is asked in these seconds: looking, sbatch's one request, and its own slurmd
    sdiag | sed -n '/by message type/,/by user/p' | grep -oE '(REQUEST|MESSAGE)_[A-Z_]+' | sort -u |
        grep -vxE 'REQUEST_(JOB_INFO|JOB_INFO_SINGLE|FED_INFO|NODE_INFO|PARTITION_INFO|RESERVATION_INFO|BUILD_INFO|STATS_INFO|SUBMIT_BATCH_JOB|COMPLETE_BATCH_SCRIPT|STEP_COMPLETE|COMPLETE_PROLOG)|MESSAGE_(NODE_REGISTRATION_STATUS|EPILOG_COMPLETE)' \
            > "$CORGID_DIR/others" || true
    cat "$CORGID_DIR/others"
    [ ! -s "$CORGID_DIR/others" ]
}

# What jobstats writes of a job that used its GPU so many percent of the time.
jobstats() { # PERCENT
    python3 -c '
import base64, gzip, json, sys
said = {"nodes": {"node1": {"gpu_utilization": {"0": float(sys.argv[1])}, "gpu_used_memory": {"0": 7500000000}}}, "total_time": 9}
print("JS1:" + base64.b64encode(gzip.compress(json.dumps(said).encode())).decode())' "$1"
}

@test "advice from the daemon's own record, with whoever hardly used what they held" {
    local lazy busy
    counted() { [ "$(api GET '/v1/jobs?limit=50' | jq '[.jobs[] | select(.gpu_use != null)] | length')" = "$1" ]; }
    advisor_folder
    corgid_start
    lazy=$(batch 6 --gres=gpu:1 -J lazy)
    busy=$(batch 6 --gres=gpu:1 -J busy)
    within 50 runs "$busy"
    scontrol update jobid="$lazy" admincomment="$(jobstats 3)" # as EpilogSlurmctld does
    scontrol update jobid="$busy" admincomment="$(jobstats 90)"
    within 150 queue_is_empty
    within 50 record_is_complete
    within 50 counted 2
    [ "$(api GET '/v1/jobs?limit=50' | jq -c '[.jobs[] | select(.name == "lazy") | .gpu_use, .gpu_memory_gb, .state]')" = '[0.03,7.5,"done"]' ]
    api GET '/v1/advice?days=1' | jq -e '.users[0] | .counted_jobs == 2 and .idle_jobs == 1 and .idle_gpu_s > 0'
    mkdir "$CORGID_DIR/tmp"
    TMPDIR=$CORGID_DIR/tmp CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" advise --policy fifo --draws 1 --json > "$CORGID_DIR/advice.json"
    jq -e '.replay.jobs >= 2 and .hardly_used[0].jobs == 1 and .hardly_used[0].mean_gpu_memory_gb == 7.5 and .hardly_used[0].user == "'"$(id -un)"'"' \
        "$CORGID_DIR/advice.json"
    rmdir "$CORGID_DIR/tmp" # nothing is left there
}

@test "the daemon refuses to act, and says by what the job can be ended" {
    advisor_folder
    corgid_start
    [ "$(api_status POST /v1/jobs '{"name": "mine", "command": ["true"]}')" = 409 ]
    api POST /v1/jobs/1/cancel | grep -q scancel
    [ "$(api_status POST /v1/nodes/node1/drain '{}')" = 409 ]
}

@test "nodes that drain, sleep and come back are in the record as Slurm has them" {
    node_is() { # NODE STATE DRAINED
        [ "$(api GET "/v1/nodes/$1" | jq -r '"\(.state) \(.drained)"')" = "$2 $3" ]
    }
    goes_to_sleep() { # NODE: or sleeps already, when nobody looked for some seconds
        node_is "$1" falling_asleep false || node_is "$1" asleep false
    }
    powered_off() { # NODE
        [ "$(sinfo -h -N -n "$1" -o %T)" = 'idle~' ]
    }
    advisor_folder
    corgid_start
    within 50 node_is node2 awake false
    scontrol update nodename=node2 state=drain reason="a fan is broken"
    within 50 node_is node2 awake true
    api GET /v1/nodes/node2 | jq -r .reason | grep -q 'fan is broken'
    scontrol update nodename=node2 state=resume
    within 50 node_is node2 awake false
    scontrol update nodename=node4 state=power_down
    within 50 goes_to_sleep node4
    within 150 powered_off node4
    within 50 node_is node4 asleep false
    scontrol update nodename=node4 state=power_up
    within 200 node_is node4 awake false
}
