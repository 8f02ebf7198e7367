#!/usr/bin/env bats
# Whose joules they are: young jobs, moved jobs, cancelled jobs, ended jobs, what was saved,
# and that nothing of it falls at a restart.

load ../support/corgid.bash

# Meters are read every hour of the simulated world, unless a test says otherwise.
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

@test "a young job is in the table once a meter was read" {
    sed -i 's/power: 1h/power: 30s/' "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    above "$(await_joules_by_job "$id")" 0
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
    for _ in $(seq 100); do
        own=$(api GET "/v1/jobs/$id" | field joules)
        table=$(joules_by_job "$id")
        above "$own" "$before" && above "$table" "$(python3 -c "print(0.9 * $own)")" && break
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

@test "what was saved has an interval, and a first guess is no saving" {
    sed -i 's/power: 1h/power: 1m/; s/measure: 30s/measure: 1h/' "$CORGID_DIR/c.yaml"
    corgid_start
    # Where it would run otherwise is the type it is measured on.
    id=$(submit '{"total_steps": 1e9, "types": ["k80"], "need": {"kind": "rate", "rate": 0.01}}')
    wait_state "$id" running
    above "$(await_joules_by_job "$id")" 0
    # Nothing was measured yet: all that is known of the reference is a guess.
    [ "$(joules_by_job "$id" saved_joules)" = None ]
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" energy --by job
    [[ $output != *±* ]]
    for _ in $(seq 100); do
        sample="{\"at_s\": $(api GET /v1/version | field now_s), \"window_s\": 5,
                 \"rate\": 5, \"steps\": 5000, \"device_watts\": 120}"
        api POST /v1/measurements "{\"job\": $id, \"samples\": [$sample]}" > /dev/null
        [ "$(joules_by_job "$id" saved_joules)" != None ] && break
        sleep 0.2
    done
    above "$(joules_by_job "$id" saved_joules)" "$(joules_by_job "$id" saved_joules_low)"
    above "$(joules_by_job "$id" saved_joules_high)" "$(joules_by_job "$id" saved_joules)"
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" energy --by job
    echo "$output"
    [[ $output == *±* ]]
}

@test "no figure falls when the daemon is killed" {
    sed -i 's/power: 1h/power: 20s/' "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(submit '{"total_steps": 1e9}')
    wait_state "$id" running
    above "$(await_joules_by_job "$id")" 0
    for _ in 1 2 3; do
        sleep 0.7
        all=$(api GET /v1/energy | field joules)
        own=$(api GET "/v1/jobs/$id" | field joules)
        corgid_kill
        corgid_start
        echo "told $own of $all, then $(api GET "/v1/jobs/$id" | field joules)"
        above "$(api GET "/v1/jobs/$id" | field joules)" "$(python3 -c "print($own - 1e-6)")"
        above "$(api GET /v1/energy | field joules)" "$(python3 -c "print($all - 1e-6)")"
        wait_state "$id" running
    done
}

@test "an ended job keeps its name, idle is nobody's, and every table has the same sum" {
    sed -i 's/power: 1h/power: 20s/' "$CORGID_DIR/c.yaml"
    echo 'energy: {price_per_kwh: 0.30, currency: CHF, co2_g_per_kwh: 100}' >> "$CORGID_DIR/c.yaml"
    echo "shares: [{account: physics, users: [$(id -un)]}]" >> "$CORGID_DIR/c.yaml"
    corgid_start
    id=$(submit '{"name": "short", "total_steps": 10}')
    wait_state "$id" "done"
    above "$(await_joules_by_job "$id")" 0
    [ "$(joules_by_job "$id" name)" = short ]
    for by in user account job device node type; do
        api GET "/v1/energy?by=$by" > "$CORGID_DIR/$by"
    done
    python3 - "$CORGID_DIR" << 'EOF'
import json, sys
for by in "user", "account", "job", "device", "node", "type":
    answer = json.load(open(f"{sys.argv[1]}/{by}"))
    total = sum(row["joules"] for row in answer["rows"])
    assert abs(total - answer["joules"]) < 1e-6 * total, (by, total, answer["joules"])
    saved = sum(row["saved_joules"] or 0 for row in answer["rows"])
    assert abs(saved - (answer["saved_joules"] or 0)) < 1e-6 * total, (by, saved, answer)
    assert abs(answer["cost"] - answer["joules"] / 3.6e6 * 0.30) < 1e-9
    assert abs(answer["co2_g"] - answer["joules"] / 3.6e6 * 100) < 1e-9
    keys = [row["key"] for row in answer["rows"]]
    if by in ("user", "job"):
        assert "(idle)" in keys and "nobody" not in keys and "idle" not in keys, keys
    if by == "account":
        assert sorted(keys) == ["(idle)", "physics"], keys
EOF
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" energy
    [[ $output == *CHF* && $output == *"kg CO2"* && $output == *"(idle)"* ]]
}
