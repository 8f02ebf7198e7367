#!/usr/bin/env bats
# The daemon from outside: a real corgid on a Unix socket, a simulated cluster behind it.

load ../support/corgid.bash

setup() { corgid_folder; }
teardown() { corgid_clean; }

submit() { api POST /v1/jobs "$1" | field job.id; }

@test "a submitted job runs and is done, and its history tells how" {
    corgid_start
    id=$(submit '{"name": "first", "total_steps": 1000}')
    wait_state "$id" "done"
    run api GET "/v1/jobs/$id/history"
    [[ $output == *'"kind":"submitted"'*'"kind":"started"'*'"kind":"done"'* ]]
    run api GET "/v1/decisions?job=$id"
    [[ $output == *'"kind":"start"'* ]]
    [[ $output == *'"alternatives":[{'* ]]
    run api GET "/v1/jobs/$id"
    [ "$(field exit_status <<< "$output")" = 0 ]
    python3 -c 'import json,sys; assert json.loads(sys.argv[1])["joules"] > 0' "$output"
}

@test "why a job failed is told, in the engine's words too" {
    corgid_start
    id=$(submit '{"total_steps": 5000, "environment": {"CORGI_SIM_EXIT": "3"}}')
    wait_state "$id" failed
    run api GET "/v1/jobs/$id"
    [ "$(field reason <<< "$output")" = "ended with exit status 3: as its environment asked for" ]
    [ "$(field exit_status <<< "$output")" = 3 ]
    # shellcheck disable=SC2153  # set by corgid.bash
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" show "$id"
    [[ $output == *"exit status 3: as its environment asked for"* ]]
}

@test "the answer to a submission is a quote" {
    corgid_start
    run api POST /v1/jobs '{"total_steps": 1e6, "need": {"kind": "rate", "rate": 0.001}}'
    [ "$(field quote.verdict <<< "$output")" = unpromised ] # nobody knows its kind
    [ "$(field quote.promised_rate <<< "$output")" = null ]
    [ "$(field quote.type <<< "$output")" != null ]
    [ "$(field quote.start_s <<< "$output")" != null ]
    python3 -c '
import json, sys
q = json.loads(sys.argv[1])["quote"]
assert q["joules"]["low"] <= q["joules"]["value"] <= q["joules"]["high"]
assert q["rate"]["source"] == "initial"' "$output"
}

@test "what cannot be promised is answered with a counter-offer, which can be taken" {
    corgid_start
    known_kind '"total_steps": 1e12'
    want='{"need": {"kind": "rate", "rate": 1e8}'
    [ "$(api_status POST /v1/jobs "$want}")" = 422 ]
    run api POST /v1/jobs "$want}"
    [ "$(field error.field <<< "$output")" = need.rate ]
    [ "$(field error.quote.counter_offers.0.kind <<< "$output")" = lower_rate ]
    [ "$(api GET '/v1/jobs?state=active' | field total)" = 0 ]
    run api POST /v1/jobs "$want, \"on_counter\": \"accept\"}"
    python3 -c '
import json, sys
a = json.loads(sys.argv[1])
assert 0 < a["job"]["need"]["rate"] < 1e8
assert a["job"]["need"]["rate"] == a["quote"]["promised_rate"]' "$output"
}

@test "cancel, hold, release and requeue, and what is not possible is refused" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    id=$(submit '{"total_steps": 1e9, "hold": true}')
    [ "$(api GET "/v1/jobs/$id" | field state)" = held ]
    sleep 1
    [ "$(api GET "/v1/jobs/$id" | field state)" = held ]
    [ "$(api_status POST "/v1/jobs/$id/requeue")" = 409 ]
    api POST "/v1/jobs/$id/release" > /dev/null
    wait_state "$id" running
    [ "$(api_status POST "/v1/jobs/$id/hold")" = 409 ]
    api POST "/v1/jobs/$id/requeue" '{"reason": "again"}' > /dev/null
    wait_state "$id" running
    [ "$(api GET "/v1/jobs/$id" | field attempt)" -ge 2 ]
    run api POST "/v1/jobs/$id/cancel" '{"reason": "enough"}'
    [ "$(field state <<< "$output")" = cancelled ]
    [ "$(api_status POST "/v1/jobs/$id/cancel")" = 409 ]
    [ "$(api_status POST /v1/jobs/999/cancel)" = 404 ]
    api POST "/v1/jobs/$id/requeue" > /dev/null
    wait_state "$id" running
}

@test "the same key and body give the same job, another body is refused" {
    corgid_start
    body='{"name": "once", "total_steps": 1e6}'
    one=$(api POST /v1/jobs "$body" -H 'Idempotency-Key: k1')
    two=$(api POST /v1/jobs "$body" -H 'Idempotency-Key: k1')
    [ "$(field job.id <<< "$one")" = "$(field job.id <<< "$two")" ]
    [ "$(field quote <<< "$one")" = "$(field quote <<< "$two")" ]
    [ "$(api_status POST /v1/jobs '{"name": "other"}' -H 'Idempotency-Key: k1')" = 409 ]
    corgid_kill
    corgid_start
    two=$(api POST /v1/jobs "$body" -H 'Idempotency-Key: k1')
    [ "$(field job.id <<< "$one")" = "$(field job.id <<< "$two")" ]
    [ "$(field quote <<< "$one")" = "$(field quote <<< "$two")" ]
    [ "$(api_status POST /v1/jobs '{"name": "other"}' -H 'Idempotency-Key: k1')" = 409 ]
}

# Wait until the job has done more steps than this.
steps_beyond() { # ID STEPS
    for _ in $(seq 300); do
        api GET "/v1/jobs/$1" | jq -e ".steps_done > $2" > /dev/null && return 0
        sleep 0.1
    done
    return 1
}

@test "a restart keeps waiting, held and running jobs, quotas, drains and tokens" {
    CORGID_SPEED=60 corgid_folder
    corgid_start
    run=$(submit '{"name": "long", "total_steps": 1e9}')
    held=$(submit '{"name": "later", "hold": true}')
    wait_state "$run" running
    api PUT /v1/quotas/ada '{"max_jobs": 7}' > /dev/null
    api POST /v1/nodes/kepler-2/drain '{"reason": "fan"}' > /dev/null
    token=$(api POST /v1/tokens '{"user": "root", "role": "viewer", "note": "n"}' | field id)
    steps_beyond "$run" 0 # a window was told, and so is known after the restart
    mine=".quotas[] | select(.user == \"$(id -un)\")"
    for _ in $(seq 100); do # what it held is counted every simulated minute
        api GET /v1/quotas | jq -e "$mine | .gpu_s > 60 and .had == 1" > /dev/null && break
        sleep 0.1
    done
    used=$(api GET /v1/quotas | jq "$mine | .gpu_s")
    corgid_stop
    corgid_start
    api GET /v1/quotas | jq -e "$mine | .gpu_s > 0.99 * $used and $used > 60 and .due == 1"
    grep -q job_adopted "$CORGID_DIR/log"
    [ "$(api GET "/v1/jobs/$run" | field state)" = running ]
    [ "$(api GET "/v1/jobs/$run" | field attempt)" = 1 ]
    [ "$(api GET "/v1/jobs/$held" | field state)" = held ]
    [ "$(api GET "/v1/jobs/$held" | field quote.verdict)" = accepted ]
    [[ $(api GET /v1/quotas) == *'"user":"ada","max_jobs":7'* ]]
    [ "$(api GET /v1/nodes/kepler-2 | field drained)" = True ]
    [ "$(api GET /v1/nodes/kepler-2 | field reason)" = fan ]
    [ "$(api GET /v1/tokens | field tokens.0.id)" = "$token" ]
    before=$(api GET "/v1/jobs/$run" | field steps_done)
    python3 -c 'import sys; assert float(sys.argv[1]) > 0, sys.argv' "$before"
    steps_beyond "$run" "$before"
}

@test "quotas hold back submissions and starts" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    me=$(id -un)
    api PUT "/v1/quotas/$me" '{"max_jobs": 3, "max_gpus": 2}' > /dev/null
    for _ in 1 2; do submit '{"total_steps": 1e9, "share": false}' > /dev/null; done
    third=$(submit '{"total_steps": 1e9, "share": false}')
    [ "$(api_status POST /v1/jobs '{}')" = 429 ]
    wait_state 1 running
    wait_state 2 running
    sleep 1.5
    [ "$(api GET "/v1/jobs/$third" | field state)" = waiting ]
    [ "$(api GET "/v1/jobs/$third" | field reason_code)" = quota ]
    api POST /v1/jobs/1/cancel > /dev/null
    wait_state "$third" running
}

@test "a job that is queued again counts for the quota like a new one" {
    corgid_start
    for _ in 1 2 3; do
        id=$(submit '{"total_steps": 1e9, "hold": true}')
        api POST "/v1/jobs/$id/cancel" > /dev/null
    done
    api PUT "/v1/quotas/$(id -un)" '{"max_jobs": 2}' > /dev/null
    [ "$(api_status POST /v1/jobs/1/requeue)" = 200 ]
    [ "$(api_status POST /v1/jobs/2/requeue)" = 200 ]
    [ "$(api_status POST /v1/jobs/3/requeue)" = 429 ]
    [ "$(api GET /v1/jobs/3 | field state)" = cancelled ]
    [[ $(api GET /v1/quotas) == *'"jobs":2'* ]]
}

@test "a job that is queued again counts for the limit of all jobs too" {
    echo 'limits: {jobs: 2}' >> "$CORGID_DIR/c.yaml"
    corgid_start
    for _ in 1 2 3; do
        id=$(submit '{"total_steps": 1e9, "hold": true}')
        api POST "/v1/jobs/$id/cancel" > /dev/null
    done
    [ "$(api_status POST /v1/jobs/1/requeue)" = 200 ]
    [ "$(api_status POST /v1/jobs/2/requeue)" = 200 ]
    [ "$(api_status POST /v1/jobs/3/requeue)" = 429 ]
}

@test "a second daemon on the same store, or the same socket, refuses" {
    corgid_start
    run "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml"
    [ "$status" -eq 1 ]
    [[ $output == *"corgi.db"* ]]
    run "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml" --state "$CORGID_DIR/other"
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2153  # set by corgid.bash
    [[ $output == *"$CORGID_SOCKET"* ]]
    [ "$(api_status GET /readyz)" = 200 ]
}

@test "SIGHUP reads the config again, and a wrong one changes nothing" {
    corgid_start
    printf 'policy: {share: 1}\n' >> "$CORGID_DIR/c.yaml"
    kill -HUP "$CORGID_PID"
    for _ in $(seq 50); do grep -q reloaded "$CORGID_DIR/log" && break; sleep 0.1; done
    [ "$(api GET /v1/policy | field share)" = 1 ]
    printf 'nonsense: 1\n' >> "$CORGID_DIR/c.yaml"
    kill -HUP "$CORGID_PID"
    for _ in $(seq 50); do grep -q reload_refused "$CORGID_DIR/log" && break; sleep 0.1; done
    [ "$(api GET /v1/policy | field share)" = 1 ]
}

@test "SIGTERM ends it with status 0, without its socket and its pid file" {
    echo "pid_file: $CORGID_DIR/pid" >> "$CORGID_DIR/c.yaml"
    corgid_start
    [ "$(cat "$CORGID_DIR/pid")" = "$CORGID_PID" ]
    corgid_stop
    [ ! -e "$CORGID_SOCKET" ]
    [ ! -e "$CORGID_DIR/pid" ]
    grep -q ' ended' "$CORGID_DIR/log"
}

@test "systemd hears READY and STOPPING" {
    python3 -c '
import socket, sys, os
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1] + "/notify")
s.settimeout(60)
heard = ""
while "STOPPING=1" not in heard:
    heard += s.recv(100).decode() + "\n"
    open(sys.argv[1] + "/heard", "w").write(heard)' "$CORGID_DIR" 3>&- &
    listener=$!
    for _ in $(seq 100); do [ -S "$CORGID_DIR/notify" ] && break; sleep 0.05; done
    NOTIFY_SOCKET=$CORGID_DIR/notify corgid_start
    corgid_stop
    wait "$listener"
    grep -q READY=1 "$CORGID_DIR/heard"
}

@test "wrong configs are refused with file, line and key" {
    echo 'sim: {speeed: 3}' > "$CORGID_DIR/wrong.yaml"
    run "$CORGI_BIN/corgid" --config "$CORGID_DIR/wrong.yaml"
    [ "$status" -eq 1 ]
    [[ $output == *wrong.yaml:1* && $output == *speeed* ]]
    run "$CORGI_BIN/corgi" config check --kind daemon "$CORGID_DIR/wrong.yaml"
    [ "$status" -eq 1 ]
    printf 'sim: {speed: 3}\npolicy: {share: 3}\n' > "$CORGID_DIR/wrong.yaml"
    run "$CORGI_BIN/corgi" config check --kind daemon "$CORGID_DIR/wrong.yaml"
    [ "$status" -eq 1 ]
    [[ $output == *wrong.yaml:2*"'share' takes a whole number from 1 to 2, not '3'"* ]]
    "$CORGI_BIN/corgi" config show --kind daemon > "$CORGID_DIR/all.yaml"
    "$CORGI_BIN/corgi" config check --kind daemon "$CORGID_DIR/all.yaml"
}

@test "events are told live, and again to those who come back" {
    corgid_start
    id=$(submit '{"total_steps": 5000}')
    wait_state "$id" "done"
    run api GET '/v1/events?types=job' '' -N --max-time 2 -H 'Last-Event-ID: 0'
    [[ $output == *'"what":"submitted"'*'"what":"started"'*'"what":"done"'* ]]
    newest=$(grep '^id:' <<< "$output" | tail -1 | tr -dc 0-9)
    submit '{"name": "next", "hold": true}' > /dev/null
    run api GET '/v1/events?types=job' '' -N --max-time 2 -H "Last-Event-ID: $newest"
    [[ $output == *'"name":"next"'* ]]
    [[ $output != *'"what":"done"'* ]]
}

@test "a promise that breaks is noticed and acted on" {
    CORGID_SPEED=120 corgid_folder
    corgid_start
    body='{"name": "slow", "total_steps": 1e9, "need": {"kind": "rate", "rate": 0.5},
           "environment": {"CORGI_SIM_SPEED": "0.001", "CORGI_SIM_SPEED_AFTER": "900"}}'
    id=$(submit "$body")
    wait_state "$id" running
    short=
    for _ in $(seq 300); do
        [ -n "$short" ] || [ "$(api GET "/v1/jobs/$id" | field short_since_s)" = null ] || short=seen
        run api GET "/v1/decisions?kind=guard&job=$id"
        [[ $output == *'"kind":"guard"'* ]] && break
        sleep 0.1
    done
    [ "$short" = seen ]
    [[ $output == *'below the promise'* ]]
    grep -q promise_broken "$CORGID_DIR/log"
}

@test "jobs that are well where they are stay there while others come and go" {
    corgid_start
    for i in 1 2 3 4 5 6; do
        stays[i]=$(submit '{"total_steps": 1e9, "need": {"kind": "rate", "rate": 0.01}}')
    done
    for _ in $(seq 20); do
        submit '{"total_steps": 2e4, "need": {"kind": "rate", "rate": 0.01}}' > /dev/null
        sleep 0.2
    done
    moves=0
    for i in 1 2 3 4 5 6; do
        run api GET "/v1/jobs/${stays[i]}"
        [ "$(field state <<< "$output")" = running ]
        moves=$((moves + $(field moves <<< "$output")))
    done
    # A plan from scratch every round moves each several times an hour.
    hours=$(python3 -c 'import sys; print(int(1 + (float(sys.argv[1]) - float(sys.argv[2])) / 3600))' \
        "$(api GET /v1/version | field now_s)" "$(api GET "/v1/jobs/${stays[1]}" | field submitted_s)")
    echo "$moves moves of 6 jobs in $hours hours"
    [ "$moves" -le $((6 * hours)) ]
}

@test "a drained GPU gets nothing new, and what may not move stays" {
    corgid_start
    fixed=$(submit '{"total_steps": 1e9, "move": false, "need": {"kind": "rate", "rate": 0.01}}')
    wait_state "$fixed" running
    place=$(api GET "/v1/jobs/$fixed" | field devices.0.name)
    api POST "/v1/devices/$place/drain" '{"reason": "dust"}' > /dev/null
    for _ in $(seq 12); do
        submit '{"total_steps": 2e4}' > /dev/null
    done
    sleep 2
    run api GET "/v1/jobs/$fixed"
    [ "$(field moves <<< "$output")" = 0 ]
    [ "$(field devices.0.name <<< "$output")" = "$place" ]
    [ "$(field neighbours <<< "$output")" = "[]" ]
}

@test "a limit on the cluster's power holds back starts and says so" {
    corgid_start
    awake=$(api GET /v1/summary | field watts)
    api PATCH /v1/policy '{"power_limit_watts": 3000}' > /dev/null
    for _ in $(seq 40); do
        submit '{"total_steps": 1e9, "share": false, "need": {"kind": "rate", "rate": 0.01}}' > /dev/null
    done
    sleep 4
    run api GET '/v1/jobs?state=waiting'
    [[ $output == *"power limit"* ]]
    # Starts are held back by what jobs are believed to draw; the limit itself is kept once
    # that has been measured and learned.
    for _ in $(seq 200); do
        python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 3000 * 1.1)' \
            "$(api GET /v1/summary | field watts)" && break
        sleep 0.1
    done
    running=$(api GET '/v1/jobs?state=running&limit=100' | python3 -c '
import json, sys; print(len(json.load(sys.stdin)["jobs"]))')
    echo "$running run, $awake W at first, now $(api GET /v1/summary | field watts) W"
    [ "$running" -ge 1 ]
    [ "$running" -lt 40 ]
    python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 3000 * 1.1)' "$(api GET /v1/summary | field watts)"
}

@test "promtool accepts the metrics" {
    command -v promtool > /dev/null || skip "promtool is not installed"
    corgid_start
    submit '{"total_steps": 1e12, "need": {"kind": "rate", "rate": 0.001}}' > /dev/null
    for _ in $(seq 300); do # until it is measured, and its device too
        api GET /metrics > "$CORGID_DIR/metrics"
        [ "$(grep -cE '^# TYPE corgi_(job_rate_ratio|device_power_watts|prediction_error_ratio)' \
            "$CORGID_DIR/metrics")" = 3 ] && break
        sleep 0.1
    done
    run promtool check metrics < "$CORGID_DIR/metrics"
    [ "$status" -eq 0 ]
    for name in corgi_jobs corgi_job_rate_ratio corgi_device_power_watts \
        corgi_energy_joules_total corgi_prediction_error_ratio \
        corgi_decision_duration_seconds; do
        grep -q "# TYPE $name" "$CORGID_DIR/metrics"
    done
}

@test "the command line speaks to it" {
    corgid_start
    export CORGI_SOCKET=$CORGID_SOCKET
    run "$CORGI_BIN/corgi" submit --name cli -- true
    [ "$status" -eq 0 ]
    run "$CORGI_BIN/corgi" queue
    [ "$status" -eq 0 ]
    run "$CORGI_BIN/corgi" nodes
    [ "$status" -eq 0 ]
    [[ $output == *kepler-1* ]]
    run "$CORGI_BIN/corgi" show 1
    [ "$status" -eq 0 ]
    [[ $output == *cli* ]]
}

@test "a long list is whole in one page and in many, in every order" {
    corgid_start
    run python3 "$BATS_TEST_DIRNAME/../support/pages.py" "$CORGID_SOCKET"
    [ "$status" = 0 ]
    [[ $output == "200 jobs, every list whole" ]]
}
