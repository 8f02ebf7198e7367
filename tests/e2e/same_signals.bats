#!/usr/bin/env bats
# What the probe and the local engine tell of a job, and what the simulated engine tells:
# the same figures, of a service and of training.  What a simulator tells beyond what a
# probe can see would make its results worth nothing.

bats_require_minimum_version 1.5.0
load local_daemon.bash
load ../support/corgid.bash

setup() {
    LOCAL=$(mktemp -d /tmp/corgi-signals-XXXXXX)
    PORT=$((20000 + RANDOM % 12000)) # below those of clients
    write_config "$LOCAL"
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 1m}/' "$CORGID_DIR/c.yaml"
}

teardown() {
    stop_daemon "$LOCAL" || true
    for pid in $(processes_of "$LOCAL"); do
        kill -KILL "$pid" || true
    done
    rm -rf "$LOCAL"
    corgid_clean
}

# events SOCKET SECONDS FILE
events() {
    curl -sN --max-time "$2" --unix-socket "$1" http://corgi/v1/events > "$3" || true
}

# told FILE JOB: the figures that some measurement of the job has, a line
told() {
    awk '/^event: / {kind = $2} /^data: / && kind == "measurement" {print substr($0, 7)}' "$1" |
        jq -rsc "[.[] | select(.job == $2 and .rate > 0) | to_entries[] | select(.value != null) | .key] | unique"
}

@test "probe and simulator tell the same figures of a service and of training" {
    start_daemon "$LOCAL"
    corgid_start
    events "$LOCAL/corgi.sock" 16 "$LOCAL/events" &
    listening=$!
    submit_job "$LOCAL" web "\"kind\": \"inference\", \"need\": {\"kind\": \"service\", \"rate\": 20},
        \"metrics_url\": \"http://127.0.0.1:$PORT/metrics\"" \
        "exec $CORGI_BIN/example-serve --port $PORT" > "$LOCAL/answer"
    submit_job "$LOCAL" train '"need": {"kind": "rate", "rate": 1}' \
        "exec $CORGI_BIN/example-train --seconds 60" > "$LOCAL/answer"
    sleep 2
    "$CORGI_BIN/example-load" --port "$PORT" --rate 40 --seconds 12
    wait "$listening"

    events "$CORGID_SOCKET" 12 "$CORGID_DIR/events" &
    listening=$!
    api POST /v1/jobs '{"name": "web", "kind": "inference", "on_counter": "accept",
        "need": {"kind": "service", "rate": 20}, "descriptor": {"family": "web"},
        "environment": {"CORGI_SIM_DEMAND": "5@0"}}' > "$LOCAL/answer"
    api POST /v1/jobs '{"name": "train", "on_counter": "accept", "total_steps": 1e9,
        "need": {"kind": "rate", "rate": 1}, "descriptor": {"family": "train"}}' > "$LOCAL/answer"
    wait "$listening"

    for job in 1 2; do
        echo "local $job: $(told "$LOCAL/events" $job)"
        echo "sim   $job: $(told "$CORGID_DIR/events" $job)"
        [ "$(told "$LOCAL/events" $job)" = "$(told "$CORGID_DIR/events" $job)" ]
    done
    # Of a service all of them, of training none of a service's.
    told "$LOCAL/events" 1 | jq -e 'contains(["busy", "held", "latency_s", "median_s"])'
    told "$LOCAL/events" 2 | jq -e 'contains(["busy"]) or contains(["held"]) | not'
}
