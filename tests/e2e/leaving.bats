#!/usr/bin/env bats
# A job that was told to go keeps its device until it has gone: nobody is started there
# before, everybody is told, it can be forced, and a restart forgets nothing of it.

load ../support/corgid.bash
load local_daemon.bash

setup() {
    export CORGID_DIR="" CORGID_PID=""
    dir=$(mktemp -d /tmp/corgi-leaving.XXXXXX)
}

teardown() {
    stop_daemon "$dir" || true
    for pid in $(processes_of "$dir"); do kill -9 "$pid" || true; done
    [ -z "$CORGID_DIR" ] || corgid_clean
    rm -rf "$dir"
}

# One simulated GPU; its clock goes as fast, or stands still until it is moved.
start_sim() { # SPEED|stepped
    corgid_folder
    printf 'nodes: [{gpu: v100-16, gpus: 1, may_sleep: false}]\n' > "$CORGID_DIR/cluster.yaml"
    local clock="speed: $1"
    [ "$1" != stepped ] || clock="clock: stepped, measure: 10s"
    sed -i "s|^sim: .*|sim: {cluster_file: $CORGID_DIR/cluster.yaml, $clock}|" "$CORGID_DIR/c.yaml"
    corgid_start
}

advance() { # SECONDS
    local now
    now=$(api GET /v1/summary | field now_s)
    api POST /v1/sim/advance "{\"to_s\": $(python3 -c "print($now + $1)")}" > /dev/null
}

state_of() { api GET "/v1/jobs/$1" | field state; }

# A job that takes so many seconds to leave.
stays() { # SECONDS
    printf '{"total_steps": 1e12, "share": false, "stop_grace_s": 300,
             "environment": {"CORGI_SIM_LEAVE": "%s"}}' "$1"
}

submit() { api POST /v1/jobs "$1" | field job.id; }

@test "a cancelled job is leaving until it has gone, and the next one waits for it" {
    start_sim stepped
    old=$(submit "$(stays 100)")
    advance 20
    [ "$(state_of "$old")" = running ]
    [ "$(api POST "/v1/jobs/$old/cancel" | field state)" = leaving ]
    [ "$(api GET /v1/devices | field devices.0.state)" = leaving ]
    [ "$(api GET /v1/devices | field devices.0.leaving.0.job)" = "$old" ]
    answer=$(api POST /v1/jobs '{"total_steps": 10, "share": false}')
    new=$(field job.id <<< "$answer")
    [ "$(field quote.verdict <<< "$answer")" = queued ]
    [[ $(field quote.reason <<< "$answer") == *"is being left by job $old"* ]]
    python3 - "$(field quote.start_s <<< "$answer")" "$(api GET /v1/summary | field now_s)" << 'PYTHON'
import sys
start_s, now_s = map(float, sys.argv[1:])
assert now_s < start_s <= now_s + 310, (now_s, start_s)
PYTHON
    advance 90
    [ "$(state_of "$old")" = leaving ]
    [ "$(state_of "$new")" = waiting ]
    [[ $(api GET "/v1/jobs/$new" | field reason) == *"is being left by job $old"* ]]
    [[ $(api GET "/v1/jobs/$new" | field places.0.text) == *"is being left by job $old"* ]]
    [ "$(api GET '/v1/jobs?state=leaving' | field jobs.0.id)" = "$old" ]
    advance 30
    [ "$(state_of "$old")" = cancelled ]
    [[ $(state_of "$new") == @(running|done) ]]
    run api GET "/v1/jobs/$old/history"
    [[ $output == *'"kind":"leaving"'*'"kind":"cancelled"'* ]]
}

@test "a second cancel of a leaving job is no error, and force ends it at once" {
    start_sim 1
    old=$(submit "$(stays 300)")
    wait_state "$old" running
    [ "$(api POST "/v1/jobs/$old/cancel" | field state)" = leaving ]
    [ "$(api_status POST "/v1/jobs/$old/cancel")" = 200 ]
    [ "$(api GET "/v1/jobs/$old" | field state)" = leaving ]
    [ "$(api_status POST "/v1/jobs/$old/requeue")" = 409 ]
    [ "$(api_status POST "/v1/jobs/$old/hold")" = 409 ]
    run "$CORGI_BIN/corgi" cancel --force "$old" --socket "$CORGID_SOCKET"
    [ "$status" -eq 0 ]
    wait_state "$old" cancelled
    [ "$(api GET /v1/devices | field devices.0.state)" = free ]
}

@test "a requeued job starts again when its old attempt has gone, not before" {
    start_sim stepped
    old=$(submit "$(stays 100)")
    advance 20
    [ "$(api POST "/v1/jobs/$old/requeue" | field state)" = leaving ]
    advance 90
    [ "$(state_of "$old")" = leaving ]
    [ "$(api GET "/v1/jobs/$old" | field attempt)" = 1 ]
    advance 30
    [ "$(state_of "$old")" = running ]
    [ "$(api GET "/v1/jobs/$old" | field attempt)" = 2 ]
}

@test "a leaving job is leaving after a kill of the daemon too" {
    start_sim stepped
    old=$(submit "$(stays 250)")
    advance 20
    api POST "/v1/jobs/$old/cancel" > /dev/null
    new=$(submit '{"total_steps": 10, "share": false}')
    advance 100
    corgid_kill
    corgid_start
    [ "$(state_of "$old")" = leaving ]
    [ "$(api GET /v1/devices | field devices.0.state)" = leaving ]
    advance 20
    [ "$(state_of "$new")" = waiting ]
    api POST "/v1/jobs/$old/cancel" '{"force": true}' > /dev/null
    wait_state "$old" cancelled
    advance 20
    [[ $(state_of "$new") == @(running|done) ]]
}

# A command that does not end when it is told to; its number is in pid.job.
stubborn() { echo "trap '' TERM; echo \$\$ > '$dir/pid.job'; while :; do sleep 0.2; done"; }

@test "with real processes: nobody is started where a cancelled job still is" {
    write_config "$dir"
    start_daemon "$dir"
    old=$(submit_job "$dir" old '"types": ["cpu-fast"], "share": false' "$(stubborn)" | jq .job.id)
    await_file "$dir/pid.job" 20
    daemon_post "$dir" "/v1/jobs/$old/cancel" > /dev/null # with 2 s of grace: gone soon
    await_state "$dir" "$old" cancelled 20
    rm "$dir/pid.job"
    old=$(daemon_post "$dir" /v1/jobs "$(jq -cn --arg c "$(stubborn)" '{
        name: "old", types: ["cpu-fast"], share: false, stop_grace_s: 200,
        directory: "/tmp", command: ["/bin/sh", "-c", $c]}')" | jq .job.id)
    await_file "$dir/pid.job" 20
    pid=$(< "$dir/pid.job")
    [ "$(daemon_post "$dir" "/v1/jobs/$old/cancel" | jq -r .state)" = leaving ]
    new=$(submit_job "$dir" new '"types": ["cpu-fast"], "share": false' "sleep 1" | jq .job.id)
    sleep 2
    kill -0 "$pid"
    [ "$(daemon_get "$dir" "/v1/jobs/$new" | jq -r .state)" = waiting ]
    [[ $(daemon_get "$dir" "/v1/jobs/$new" | jq -r .reason) == *"is being left by job $old" ]]
    [ "$(daemon_get "$dir" /v1/devices | jq -r '.devices[0].state')" = leaving ]
    # The daemon comes back to the same, and its grace goes on.
    stop_daemon "$dir" KILL
    start_daemon "$dir"
    sleep 1
    kill -0 "$pid"
    [ "$(daemon_get "$dir" "/v1/jobs/$old" | jq -r .state)" = leaving ]
    [ "$(daemon_get "$dir" "/v1/jobs/$new" | jq -r .state)" = waiting ]
    daemon_post "$dir" "/v1/jobs/$old/cancel" '{"force": true}' > /dev/null
    await_gone "$pid" 10
    await_state "$dir" "$old" cancelled 10
    await_state "$dir" "$new" "done" 20
    [[ $(daemon_get "$dir" "/v1/jobs/$old" | jq -r .reason) == *"killed at once"* ]]
}
