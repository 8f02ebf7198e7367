#!/usr/bin/env bats
# A probe on another machine: corgi-probe and corgi-report against a real daemon, by TLS.
# What is lost while the daemon is away, and who may report what.

bats_require_minimum_version 1.5.0
load ../support/corgid.bash

setup() {
    corgid_folder
    export CORGI_SPOOL=$CORGID_DIR/spool CORGI_SOCKET=$CORGID_DIR/s
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$CORGID_DIR/key.pem" \
        -out "$CORGID_DIR/cert.pem" 2> /dev/null
    # The world's clock is the wall's, and its engine measures nothing by itself.
    cat > "$CORGID_DIR/c.yaml" << END
state: $CORGID_DIR/state
listen: {socket: $CORGID_DIR/s, tcp: "127.0.0.1:$port", certificate: $CORGID_DIR/cert.pem, key: $CORGID_DIR/key.pem}
sim: {speed: 1, measure: 24h}
END
    url=https://localhost:$port
    pids=()
}

teardown() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
    # corgi-report is nobody's child: its spool names the processes that are left.
    for pid in $(fuser "$CORGI_SPOOL"/*.spool 2> /dev/null); do kill "$pid" || true; done
    corgid_clean
}

running_job() {
    local id
    id=$(api POST /v1/jobs '{"total_steps": 1e9, "types": ["k80"], "move": false}' | field job.id)
    wait_state "$id" running
    echo "$id"
}

token_of() { "$CORGI_BIN/corgi" token job "$1"; }

# counting SECONDS: a job that counts ten steps a second
counting() {
    # shellcheck disable=SC2016
    echo 'for i in $(seq '"$(($1 * 10))"'); do echo "step $i/1000000"; sleep 0.1; done'
}

probe() { # TOKEN ARGUMENT...
    CORGI_JOB_TOKEN=$1 "$CORGI_BIN/corgi-probe" --report "$url" --report-ca "$CORGID_DIR/cert.pem" --window 1 "${@:2}"
}

# Windows a probe has told of a job.
windows() { api GET "/v1/jobs/$1/measurements?limit=1000" | jq -e '[.points[] | select(.source == "log")] | length' || [ $? = 1 ]; }

await_windows() { # JOB COUNT
    for _ in $(seq 150); do
        [ "$(windows "$1")" -ge "$2" ] && return 0
        sleep 0.1
    done
    api GET "/v1/jobs/$1/measurements"
    return 1
}

line() { # JOB AT [RATE]
    echo "corgi=1 kind=rate job=$1 attempt=1 at=$2 window=0.5 rate=${3:-10} source=log confidence=0.9"
}

post() { # TOKEN BODY [CURL-OPTION...]
    curl -s --max-time 20 --cacert "$CORGID_DIR/cert.pem" -H "Authorization: Bearer $1" \
        -H 'Content-Type: application/json' -d "$2" -w '\n%{http_code}' "${@:3}" "$url/v1/reports"
}

run_id=0123456789abcdef0123456789abcdef
body() { # JOB FIRST LINES [RUN [NODE]]
    jq -cn --argjson job "$1" --argjson first "$2" --arg lines "$3" --arg run "${4:-$run_id}" --arg node "${5:-n1}" \
        '{job: $job, run: $run, node: $node, first: $first, reports: ($lines | split("\n"))}'
}

now() { api GET /v1/version | field now_s; }

@test "what a probe prints is what the daemon reads: rates arrive by TLS, from a name" {
    corgid_start
    id=$(running_job)
    run probe "$(token_of "$id")" -- sh -c "$(counting 5); exit 3"
    [ "$status" -eq 3 ]
    await_windows "$id" 3
    rate=$(api GET "/v1/jobs/$id" | field rate)
    python3 -c "assert 7 < $rate < 11, $rate"
    # The job itself does not see the token, and the spool is empty.
    # shellcheck disable=SC2016
    run probe "$(token_of "$id")" -- sh -c 'echo "token=$CORGI_JOB_TOKEN"'
    [[ $output == "token=" ]]
    sleep 1
    [ "$(find "$CORGI_SPOOL" -name '*.spool' | wc -l)" -eq 0 ]
}

@test "at speed 1 a new simulated cluster's clock is the wall's: else a probe's windows lie in its future" {
    # It was read in whole seconds once: start at the end of one.
    for _ in 1 2 3; do
        rm -rf "$CORGID_DIR/state"
        python3 -c 'import time; time.sleep(1.9 - time.time() % 1)'
        corgid_start
        before=$(date +%s.%N)
        now=$(now)
        after=$(date +%s.%N)
        corgid_stop || true
        python3 -c "assert $before - 0.3 < $now < $after + 0.3, ($before, $now, $after)"
    done
}

@test "a daemon that is away delays nothing, and later has everything once and in order" {
    corgid_start
    id=$(running_job)
    token=$(token_of "$id")
    probe "$token" -- sh -c "$(counting 12)" > /dev/null &
    pids+=($!)
    await_windows "$id" 2
    kill -STOP "$CORGID_PID"
    sleep 4
    kill -CONT "$CORGID_PID"
    wait "${pids[0]}"
    await_windows "$id" 10
    api GET "/v1/jobs/$id/measurements?limit=1000" | jq -e '
        [.points[] | select(.source == "log") | .at_s] as $t | ($t | sort) == $t and ($t | unique | length) == ($t | length)
        and ([range(1; $t | length) | $t[.] - $t[. - 1]] | max) < 3'
}

@test "reports that nobody took before the probe was killed are delivered later, after the job's end" {
    corgid_start
    id=$(running_job)
    token=$(token_of "$id")
    corgid_stop || true
    started=$SECONDS
    probe "$token" -- sh -c "$(counting 4)" > /dev/null
    [ $((SECONDS - started)) -le 7 ]
    # Whoever delivers is killed with the job, as Slurm does.
    for pid in $(fuser "$CORGI_SPOOL"/*.spool 2> /dev/null); do kill -9 "$pid"; done
    [ "$(find "$CORGI_SPOOL" -name '*.spool' -perm 600 | wc -l)" -eq 1 ]
    corgid_start
    api POST "/v1/jobs/$id/cancel" > /dev/null
    wait_state "$id" cancelled
    "$CORGI_BIN/corgi-report" --deliver
    [ "$(find "$CORGI_SPOOL" -name '*.spool' | wc -l)" -eq 0 ]
    await_windows "$id" 3
}

@test "forged, foreign, expired and replayed tokens are refused" {
    corgid_start
    id=$(running_job)
    other=$(running_job)
    sleep 1
    token=$(token_of "$id")
    at=$(now)
    good=$(body "$id" 1 "$(line "$id" "$at")")
    # Forged: another secret, another job or another time with the secret of this one.
    for forged in "${token%????}AAAA" "${token/corgi-job-$id-/corgi-job-$other-}" "${token/-1/-2}" "corgi-job-$id-99999999999-x" \
        "corgi-job-0$id-${token#corgi-job-"$id"-}" "$token "x; do
        [ "$forged" != "$token" ]
        [ "$(post "$forged" "$good" | tail -1)" = 401 ]
    done
    # Foreign: it is another job's.
    [ "$(post "$(token_of "$other")" "$good" | tail -1)" = 403 ]
    # Another job's reports in a batch of one's own.
    [ "$(post "$token" "$(body "$id" 1 "$(line "$other" "$at")")" | head -1)" = '{"next":2,"taken":0,"known":0,"refused":1,"stop":false,"ask_s":0}' ]
    # Expired.
    short=$("$CORGI_BIN/corgi" token job "$id" --expires 1)
    sleep 2
    [ "$(post "$short" "$good" | tail -1)" = 401 ]
    # Replayed: the same batch again counts once.
    second=$(body "$id" 2 "$(line "$id" "$at")")
    [ "$(post "$token" "$second" | head -1)" = '{"next":3,"taken":1,"known":0,"refused":0,"stop":false,"ask_s":0}' ]
    [ "$(post "$token" "$second" | head -1)" = '{"next":3,"taken":0,"known":1,"refused":0,"stop":false,"ask_s":0}' ]
    # A second run with the token, from the same node, while the first one lives.
    copy=$(body "$id" 1 "$(line "$id" "$(now)")" fedcba9876543210fedcba9876543210)
    run post "$token" "$copy"
    [ "${lines[1]}" = 409 ]
    [[ ${lines[0]} == *"another run of job $id reports from n1"* ]]
    await_windows "$id" 1
    [ "$(windows "$id")" -eq 1 ]
    [ "$(windows "$other")" -eq 0 ]
}

@test "a job's token may report for that job and nothing else" {
    corgid_start
    id=$(running_job)
    token=$(token_of "$id")
    for path in /v1/jobs "/v1/jobs/$id" /v1/summary /metrics /v1/events /v1/tokens /v1/nodes /v1/whoami; do
        code=$(curl -s --cacert "$CORGID_DIR/cert.pem" -H "Authorization: Bearer $token" -o /dev/null -w '%{http_code}' "$url$path")
        echo "$path $code"
        [ "$code" = 403 ]
    done
    for path in "/v1/jobs/$id/cancel" "/v1/jobs/$id/token" /v1/jobs /v1/measurements /v1/quotes; do
        code=$(curl -s --cacert "$CORGID_DIR/cert.pem" -H "Authorization: Bearer $token" -X POST -d '{}' \
            -H 'Content-Type: application/json' -o /dev/null -w '%{http_code}' "$url$path")
        echo "POST $path $code"
        [ "$code" = 403 ]
    done
    # Nothing of it is kept but the key, which nobody else can read.
    run ! grep -rqaF "$token" "$CORGID_DIR/state" "$CORGID_DIR/log"
    [ "$(stat -c %a "$CORGID_DIR/state/report.key")" = 600 ]
    # It outlives a restart, and not the key.
    corgid_stop || true
    corgid_start
    [ "$(post "$token" "$(body "$id" 1 "$(line "$id" "$(now)")")" | tail -1)" = 200 ]
    corgid_stop || true
    rm "$CORGID_DIR/state/report.key"
    corgid_start
    [ "$(post "$token" "$(body "$id" 1 "$(line "$id" "$(now)")")" | tail -1)" = 401 ]
}

@test "what cannot be a report, a run or a window is refused, and the rest is taken" {
    corgid_start
    id=$(running_job)
    sleep 1
    token=$(token_of "$id")
    at=$(now)
    bad=$(printf '%s\n' 'hello' "corgi=2 kind=rate job=$id at=$at rate=1" "$(line "$id" 5)" "$(line "$id" "$((${at%.*} + 9999))")" \
        "$(line "$id" "$at" -3)" "$(line "$id" "$at")" "$(line "$id" "$at")")
    [ "$(post "$token" "$(body "$id" 1 "$bad")" | head -1)" = '{"next":8,"taken":1,"known":0,"refused":6,"stop":false,"ask_s":0}' ]
    [ "$(post "$token" "$(body "$id" 8 "$(line "$id" "$at")" XYZ)" | tail -1)" = 400 ]
    [ "$(post "$token" "$(body "$id" 8 "$(line "$id" "$at")" "$(printf 'g%.0s' {1..32})")" | tail -1)" = 400 ]
    [ "$(post "$token" "$(body "$id" 8 "$(printf 'x%.0s' {1..3000})")" | tail -1)" = 400 ]
    many=$(jq -cn --argjson job "$id" --arg run $run_id '{job: $job, run: $run, node: "n1", first: 8, reports: [range(513) | "x"]}')
    [ "$(post "$token" "$many" | tail -1)" = 400 ]
    # A gap shows that a spool was full; what follows is taken.
    sleep 1
    [ "$(post "$token" "$(body "$id" 5000 "$(line "$id" "$(now)")")" | head -1)" = '{"next":5001,"taken":1,"known":0,"refused":0,"stop":false,"ask_s":0}' ]
}

@test "no report leaves the machine without TLS, nor to somebody whose certificate is unknown" {
    corgid_start
    id=$(running_job)
    token=$(token_of "$id")
    run env CORGI_JOB_TOKEN="$token" "$CORGI_BIN/corgi-report" --daemon "http://192.0.2.1:$port" < /dev/null
    [ "$status" -eq 1 ]
    [[ $output == *"neither https:// nor on this machine"* ]]
    CORGI_JOB_TOKEN=$token "$CORGI_BIN/corgi-probe" --report "$url" --window 1 -- sh -c "$(counting 3)" > /dev/null
    sleep 1
    [ "$(windows "$id")" -eq 0 ]
    run "$CORGI_BIN/corgi-probe" --report "$url" -- true
    [ "$status" -eq 1 ]
    [[ $output == *"there is no token"* ]]
}

@test "the end of a run that is all of a job is told again every three seconds until somebody hears it" {
    local free from
    corgid_start
    id=$(running_job)
    free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    CORGI_JOB_TOKEN=$(token_of "$id") "$CORGI_BIN/corgi-probe" --whole --report "http://127.0.0.1:$free" -- true
    sleep 8.5 # nobody listens
    from=$(date +%s%3N)
    python3 -c "
import socket
s = socket.create_server(('127.0.0.1', $free))
s.settimeout(30)
c, _ = s.accept()
text = b''
while b'kind=ended' not in text:
    text += c.recv(65536)" 3>&-
    [ $(($(date +%s%3N) - from)) -lt 4000 ]
}

@test "a spool folder of others, or a link in its place, is not used" {
    corgid_start
    id=$(running_job)
    mkdir -m 755 "$CORGI_SPOOL"
    probe "$(token_of "$id")" -- sh -c "$(counting 3)" > /dev/null
    await_windows "$id" 1
    [ -z "$(ls "$CORGI_SPOOL")" ]
    rmdir "$CORGI_SPOOL"
    mkdir -m 700 "$CORGID_DIR/elsewhere"
    ln -s "$CORGID_DIR/elsewhere" "$CORGI_SPOOL"
    probe "$(token_of "$id")" -- sh -c "$(counting 2)" > /dev/null
    [ -z "$(ls "$CORGID_DIR/elsewhere")" ]
    # Files there that are no spools are left alone.
    rm "$CORGI_SPOOL"
    mkdir -m 700 "$CORGI_SPOOL"
    echo 'rubbish' > "$CORGI_SPOOL/x.spool"
    ln -s /etc/passwd "$CORGI_SPOOL/y.spool"
    run "$CORGI_BIN/corgi-report" --deliver
    [ "$status" -eq 1 ]
    [ "$(cat "$CORGI_SPOOL/x.spool")" = rubbish ]
}

# attach JOB TOKEN [OPTION...]: as a TaskProlog does; sets CORGI_HEARTBEAT as Slurm would
attach() {
    local printed
    printed=$(SLURM_JOB_ID=$1 SLURMD_NODENAME=n1 CORGI_JOB_TOKEN=$2 timeout 5 "$CORGI_BIN/corgi-probe" --attach \
        --report "$url" --report-ca "$CORGID_DIR/cert.pem" --window 1 "${@:3}")
    [[ $printed == "export CORGI_HEARTBEAT="* ]]
    CORGI_HEARTBEAT=${printed#export CORGI_HEARTBEAT=}
    export CORGI_HEARTBEAT
}

heard() { # JOB SOURCE COUNT
    for _ in $(seq 150); do
        [ "$(api GET "/v1/jobs/$1/measurements?limit=1000" | jq "[.points[] | select(.source == \"$2\")] | length")" -ge "$3" ] && return 0
        sleep 0.1
    done
    api GET "/v1/jobs/$1/measurements"
    return 1
}

@test "an attached probe hears a job that it did not start, delays nothing and ends with it" {
    corgid_start
    id=$(running_job)
    slurm_id=$((RANDOM + 100000))
    attach $slurm_id "$(token_of "$id")"
    [ "$(stat -c %a "/tmp/corgi-attach-$(id -u)-$slurm_id")" = 700 ]
    # A second task of the job finds the same probe.
    first=$CORGI_HEARTBEAT
    attach $slurm_id "$(token_of "$id")"
    [ "$CORGI_HEARTBEAT" = "$first" ]
    # shellcheck disable=SC2016
    SLURM_JOB_ID=$slurm_id PATH=$CORGI_BIN:$PATH sh -c 'for i in $(seq 60); do corgi-probe --beat "steps=$((i * 5))"; sleep 0.2; done'
    heard "$id" heartbeat 4
    rate=$(api GET "/v1/jobs/$id" | field rate)
    python3 -c "assert 15 < $rate < 27, $rate"
    for _ in $(seq 100); do
        [ -e "/tmp/corgi-attach-$(id -u)-$slurm_id" ] || break
        sleep 0.1
    done
    [ ! -e "/tmp/corgi-attach-$(id -u)-$slurm_id" ]
}

@test "an attached probe tells what the job's GPUs draw and how busy a silent job is" {
    export LD_LIBRARY_PATH=${CORGI_FAKE:-$CORGI_BIN/../tests/fake}
    export CORGI_FAKE_NVML=$CORGID_DIR/script CORGI_FAKE_NVML_STATE=$CORGID_DIR/hardware
    {
        echo 'gpu name="Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300 uuid=GPU-fake-a'
        printf '  %s\n' "power 0 60" "follow 60 40 1500"
    } > "$CORGID_DIR/script"
    "$CORGI_BIN/corgi" devices > /dev/null || skip "the fake driver does not load"
    corgid_start
    id=$(running_job)
    export CUDA_VISIBLE_DEVICES=GPU-fake-a
    slurm_id=$((RANDOM + 200000))
    attach $slurm_id "$(token_of "$id")"
    SLURM_JOB_ID=$slurm_id setsid --wait sleep 12
    heard "$id" activity 2
    api GET "/v1/jobs/$id/measurements?limit=1000" | jq -e '[.points[] | select(.source == "activity") | .watts] | max > 100'
}
