#!/usr/bin/env bats
# corgi-probe in jobs of a real Slurm: by hand with srun, and attached by the TaskProlog that ships;
# with a token that a daemon made, and with those of the plugin to a daemon that watches this Slurm.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    # Attached probes know jobs by their number alone: another test's Slurm may have a job 1 here.
    EXTRA="TaskProlog=$(readlink -f "$BATS_TEST_DIRNAME/../../packaging/slurm/taskprolog")
FirstJobId=$((10000 + RANDOM))" slurm_start_managed Hold=no
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    corgid_folder
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$CORGID_DIR/key.pem" -out "$CORGID_DIR/cert.pem" 2> /dev/null
    cat > "$CORGID_DIR/c.yaml" << END
state: $CORGID_DIR/state
listen: {socket: $CORGID_DIR/s, tcp: "127.0.0.1:$port", certificate: $CORGID_DIR/cert.pem, key: $CORGID_DIR/key.pem}
END
    export CORGI_REPORT=https://localhost:$port CORGI_REPORT_CA=$CORGID_DIR/cert.pem CORGI_SPOOL=$CORGID_DIR/spool
    export CORGI_PROBE=$CORGI_BIN/corgi-probe
    unset CORGI_JOB_TOKEN
    cat > "$CORGID_DIR/job.sh" << 'END'
#!/bin/sh
echo "heartbeat=$CORGI_HEARTBEAT"
for i in $(seq 60); do
    "$CORGI_PROBE" --beat "steps=$((i * 5))"
    sleep 0.2
done
END
    chmod +x "$CORGID_DIR/job.sh"
}

teardown() { corgid_clean; }

# A daemon of another cluster, with a job and its token.
start_with_token() {
    echo 'sim: {speed: 1, measure: 24h}' >> "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(api POST /v1/jobs '{"total_steps": 1e9, "types": ["k80"], "move": false}' | field job.id)
    wait_state "$id" running
    CORGI_JOB_TOKEN=$(CORGI_SOCKET=$CORGID_DIR/s "$CORGI_BIN/corgi" token job "$id")
    export CORGI_JOB_TOKEN
}

# One that watches this Slurm.
start_watching() {
    printf 'engine: slurm\nslurm: {mode: advise, poll: 0.5s, within: 3s}\n' >> "$CORGID_DIR/c.yaml"
    corgid_start
}

# Our number of one of Slurm's jobs; fails while it is not known.
found() { # SLURM ID
    sqlite3 "$CORGID_DIR/state/corgi.db" "select id from jobs where key = 'found:$1'" | grep .
}

sources() { api GET "/v1/jobs/$id/measurements?limit=1000" | jq -r '[.points[].source] | group_by(.) | map("\(.[0]):\(length)") | join(" ")'; }

heard() { # SOURCE
    for _ in $(seq 300); do
        [[ $(sources) == *"$1:"[1-9]* ]] && return 0
        sleep 0.1
    done
    sources
    return 1
}

@test "srun corgi-probe -- CMD works by hand, and ends as the command did" {
    start_with_token
    cat > "$CORGID_DIR/count.sh" << 'END'
for i in $(seq 50); do echo "step $i/1000"; sleep 0.1; done
exit 7
END
    # The prolog attaches a probe here, too, which leaves the job to its own.
    run srun -p other --export=ALL -N1 -n1 "$CORGI_PROBE" --window 1 -- sh "$CORGID_DIR/count.sh"
    echo "$output"
    [ "$status" -eq 7 ]
    [[ $output == *"step 50/1000"* ]]
    heard log
}

@test "a job that is not wrapped is measured by the probe that the TaskProlog attaches, which goes with it" {
    local slurm_id
    start_with_token
    slurm_id=$(sbatch --parsable -p other --export=ALL -N1 -o "$CORGID_DIR/out" "$CORGID_DIR/job.sh" 3>&-)
    heard heartbeat
    grep -q "heartbeat=/tmp/corgi-attach-.*-$slurm_id/heartbeat" "$CORGID_DIR/out"
    ! runs "$slurm_id" || within 300 sh -c "! squeue -h -j $slurm_id -t R -o %i | grep -q ."
    within 300 test ! -e "/tmp/corgi-attach-$(id -u)-$slurm_id"
}

@test "with the plugin's token probes report for the jobs that Slurm has, for each element of an array its own" {
    local job plain array first second
    start_watching
    plain=$(sbatch --parsable --export=ALL -N1 --gres=gpu:1 -o "$CORGID_DIR/out" "$CORGID_DIR/job.sh" 3>&-)
    array=$(sbatch --parsable --export=ALL -N1 --gres=gpu:1 --array=1-2 -o /dev/null "$CORGID_DIR/job.sh" 3>&-)
    for job in "$plain" "${array}_1" "${array}_2"; do within 100 found "$job"; done
    id=$(found "$plain") && heard heartbeat
    id=$(found "${array}_1") && heard heartbeat
    id=$(found "${array}_2") && heard heartbeat
    # five steps each fifth of a second, each counted from its own beginning
    first=$(api GET "/v1/jobs/$(found "${array}_1")" | field rate)
    second=$(api GET "/v1/jobs/$(found "${array}_2")" | field rate)
    python3 -c "assert 10 < $first < 30 and 10 < $second < 30, ($first, $second)"
    # the GPU draws nothing anybody could meter here; the record says whose the windows are
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(distinct job) from measurements")" = 3 ]
    scancel "$plain" "$array"
}

# report TOKEN SLURM-ID [JOB [FIRST [WATTS]]]: prints the status of one report
report_of() {
    jq -cn --arg slurm "$2" --argjson job "${3:-null}" --argjson first "${4:-1}" --arg watts "${5:+ watts=$5}" --arg at "$(date +%s.%N)" \
        '{run: "0123456789abcdef0123456789abcdef", node: "n1", slurm_job: $slurm, first: $first,
        reports: ["corgi=1 kind=rate job=0 attempt=1 at=\($at) window=0.5 rate=10\($watts) source=log confidence=0.9"]}
        + if $job then {job: $job} else {} end' |
        curl -s -o "$CORGID_DIR/answer" -w '%{http_code}' --cacert "$CORGID_DIR/cert.pem" -H "Authorization: Bearer $1" \
            -H 'Content-Type: application/json' -d @- "$CORGI_REPORT/v1/reports"
}

@test "the plugin's token speaks for its own job alone, after its end and a restart too; others are refused" {
    local mine other token
    start_watching
    # shellcheck disable=SC2016
    CORGI_REPORT='' sbatch --parsable --export=ALL -N1 --gres=gpu:1 -o "$CORGID_DIR/token" \
        --wrap 'echo "$CORGI_JOB_TOKEN"; sleep 6' 3>&- > "$CORGID_DIR/mine"
    mine=$(cat "$CORGID_DIR/mine")
    other=$(CORGI_REPORT='' batch 60 --gres=gpu:1)
    within 100 test -s "$CORGID_DIR/token"
    within 100 found "$other"
    token=$(cat "$CORGID_DIR/token")
    [ ${#token} -eq 48 ]
    taken() { [ "$(report_of "$token" "$mine")" = 200 ]; }
    within 50 taken
    [ "$(report_of "$token" "$other")" = 403 ]
    [ "$(report_of "$token" "$mine" "$(found "$other")")" = 403 ]
    [ "$(report_of "${token/[0-9]/f}0" "$mine")" = 401 ]
    [ "$(report_of "$(printf %048d 7)" "$mine")" = 401 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$CORGID_DIR/cert.pem" -H "Authorization: Bearer $token" "$CORGI_REPORT/v1/jobs")" = 403 ]
    gone() { [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select state from jobs where key = 'found:$mine'")" = 'done' ]; }
    within 200 gone
    [ "$(report_of "$token" "$mine")" = 200 ]
    corgid_kill
    corgid_start
    [ "$(report_of "$token" "$mine")" = 200 ]
    [ "$(report_of "$token" "$other")" = 403 ]
    scancel "$other"
}

@test "a GPU that two jobs' probes report counts once, and by the model when they have gone" {
    local job i jobs=() tokens=()
    of_gpu() { sqlite3 "$CORGID_DIR/state/corgi.db" "select total(joules - modelled_joules) from energy where device = 'node1:0'"; }
    draws() { [ "$(report_of "$@")" = 200 ]; }
    start_watching
    for _ in 1 2; do
        # shellcheck disable=SC2016
        job=$(CORGI_REPORT='' sbatch --parsable --export=ALL -N1 -w node1 --gres=shard:1 -o "$CORGID_DIR/token-%j" \
            --wrap 'echo "$CORGI_JOB_TOKEN"; sleep 300' 3>&-)
        jobs+=("$job")
        within 100 test -s "$CORGID_DIR/token-$job"
        within 100 found "$job"
        tokens+=("$(cat "$CORGID_DIR/token-$job")")
    done
    began=$(date +%s.%N)
    for i in $(seq 10); do
        within 50 draws "${tokens[0]}" "${jobs[0]}" null "$i" 200
        within 50 draws "${tokens[1]}" "${jobs[1]}" null "$i" 200
        sleep 1
    done
    # both sit on it, and it draws what one of them says
    api GET /v1/nodes/node1 | jq -e '.devices[0] | .watts == 200 and (.modelled | not) and (.jobs | length) == 2'
    api GET /v1/nodes/node1 | jq -e '.devices[1].modelled'
    awk -v joules="$(of_gpu)" -v s="$(date +%s.%N)" -v began="$began" \
        'BEGIN { print joules, 200 * (s - began); exit !(joules > 800 && joules < 200 * (s - began) + 1200) }'
    # and when they have gone it is idle, by the model, though it was metered a moment ago
    scancel "${jobs[@]}"
    is_idle() { api GET /v1/nodes/node1 | jq -e '.devices[0] | .modelled and .watts < 60 and (.jobs | length) == 0' > /dev/null; }
    within 200 is_idle
}

@test "a script that the plugin runs under a probe is measured by its output; without a token it runs all the same" {
    local job
    start_watching
    sed -i.before "\$aProbe=$CORGI_BIN/corgi-probe" "$CORGI_SLURM_PLUGIN_CONF"
    cat > "$CORGID_DIR/wrapped.sh" << 'END'
#!/bin/bash
for i in $(seq 150); do echo "step $i/1000"; sleep 0.1; done
END
    job=$(sbatch --parsable --export=ALL -N1 --gres=gpu:1 -o "$CORGID_DIR/out" "$CORGID_DIR/wrapped.sh" 3>&-)
    mv "$CORGI_SLURM_PLUGIN_CONF.before" "$CORGI_SLURM_PLUGIN_CONF"
    within 100 found "$job"
    id=$(found "$job") && heard log
    scancel "$job"
    run -0 "$CORGI_PROBE" -- echo ran
    [[ "$output" == *"nothing is reported: there is no token"*ran ]]
}
