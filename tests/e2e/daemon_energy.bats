#!/usr/bin/env bats
# Whose joules they are: young jobs, moved jobs, cancelled jobs, and what was saved.

load ../support/corgid.bash

# Meters are read every hour of the simulated world: what is told in between is believed.
setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 30s, power: 1h}/' "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

submit() { api POST /v1/jobs "$1" | field job.id; }

# The joules of a job in a table by job; 0: it is not there.
joules_by_job() { # ID [MEMBER]
    api GET '/v1/energy?by=job' | python3 -c '
import json, sys
rows = {r["key"]: r for r in json.load(sys.stdin)["rows"]}
print(rows.get(sys.argv[1], {}).get(sys.argv[2], 0))' "$1" "${2:-joules}"
}

above() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))' "$1" "$2"; }

# What a job drew is handed to the store when it leaves its device and is in the table once
# that has written it, with other telemetry.
await_joules_by_job() { # ID
    for _ in $(seq 100); do
        above "$(joules_by_job "$1")" 0 && break
        sleep 0.1
    done
    joules_by_job "$1"
}

@test "a young job is in the table, before any meter was read" {
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    sleep 2
    above "$(joules_by_job "$id")" 0
    above "$(api GET "/v1/jobs/$id" | field joules)" 0
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" energy --by job
    [[ $output == *$'\n'"$id "* ]]
}

@test "a cancelled job keeps what it drew until it had stopped" {
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    sleep 2
    before=$(api GET "/v1/jobs/$id" | field joules)
    api POST "/v1/jobs/$id/cancel" > /dev/null
    for _ in $(seq 50); do
        above "$(api GET "/v1/jobs/$id" | field joules)" 0 && break
        sleep 0.1
    done
    after=$(api GET "/v1/jobs/$id" | field joules)
    echo "before $before after $after"
    above "$after" "$(python3 -c "print(0.5 * $before)")"
    above "$(await_joules_by_job "$id")" 0
}

@test "a moved job keeps what it drew where it was" {
    corgid_start
    id=$(submit '{"total_steps": 1e9, "types": ["v100-16"]}')
    wait_state "$id" running
    sleep 2
    before=$(api GET "/v1/jobs/$id" | field joules)
    api POST "/v1/jobs/$id/requeue" > /dev/null
    wait_state "$id" running
    # The table has all of it soon after, as the job itself: not only what it draws now.
    for _ in $(seq 40); do
        own=$(api GET "/v1/jobs/$id" | field joules)
        table=$(joules_by_job "$id")
        above "$table" "$(python3 -c "print(0.9 * $own)")" && break
        sleep 0.1
    done
    echo "before $before, then $own, in the table $table"
    above "$own" "$before"
    above "$table" "$(python3 -c "print(0.9 * $own)")"
    # The table by device knows the same joules: nothing was lost to "idle".
    sleep 1
    api GET "/v1/energy?by=job&job=$id" > "$CORGID_DIR/e"
    above "$(field rows.0.joules < "$CORGID_DIR/e")" 1000
}

@test "what was saved is told against the usual placement" {
    sed -i 's/power: 1h/power: 1m/' "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(submit '{"total_steps": 1e9, "need": {"kind": "rate", "rate": 0.01}}')
    wait_state "$id" running
    for _ in $(seq 100); do
        [ "$(joules_by_job "$id" saved_joules)" != 0 ] && break
        sleep 0.1
    done
    one=$(joules_by_job "$id" saved_joules)
    [ "$one" != 0 ]
    [ "$(api GET "/v1/jobs/$id" | field saved_joules)" != null ]
    [ "$(api GET /v1/summary | field saved_joules)" != null ]
}
