#!/usr/bin/env bats
# Faults of the disk and of those who look after it: noticed, said, and survived.
bats_require_minimum_version 1.5.0

load ../support/corgid.bash

setup() {
    corgid_folder
    # shellcheck disable=SC2153 # corgid_folder has made it
    state=$CORGID_DIR/state
}

teardown() {
    [ -z "${mounted:-}" ] || { corgid_stop || true; umount "$mounted" || umount -l "$mounted"; }
    corgid_clean
}

submit() { # prints the status
    api_status POST /v1/jobs '{"name": "job", "hold": true, "total_steps": 1000}'
}

# read_only PATTERN: within two seconds it takes nothing any more, says why, and reads
read_only() {
    for _ in $(seq 40); do
        [ "$(api_status GET /readyz)" = 503 ] && break
        sleep 0.05
    done
    [ "$(api GET /readyz | field status)" = read_only ]
    api GET /readyz | field reason | grep -q "$1"
    [ "$(submit)" = 503 ]
    [ "$(api_status GET /v1/jobs/1)" = 200 ]
    api GET /v1/summary | field warnings.0 | grep -q "$1"
    api GET /metrics | grep -qx 'corgi_store_failing 1'
    grep 'store_failing' "$CORGID_DIR/log" | grep -q "$1"
}

jobs() {
    api GET '/v1/jobs?limit=100' | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["jobs"]))'
}

ready_again() {
    for _ in $(seq 100); do
        [ "$(api_status GET /readyz)" = 200 ] && break
        sleep 0.1
    done
    [ "$(submit)" = 201 ]
}

@test "a state folder that is removed under the daemon is noticed: nothing is acknowledged into nothing" {
    corgid_start
    [ "$(submit)" = 201 ]
    rm -r "$state"
    [ "$(submit)" = 503 ] # at once, not when somebody looks
    read_only "removed or replaced"
}

@test "a state folder that is replaced under the daemon is noticed, and put back it goes on" {
    corgid_start
    [ "$(submit)" = 201 ]
    mv "$state" "$state.away"
    cp -r "$state.away" "$state"
    read_only "removed or replaced"
    rm -r "$state"
    mv "$state.away" "$state"
    ready_again
    corgid_stop
    corgid_start
    [ "$(jobs)" = 2 ] # what was refused is not there
    "$CORGI_BIN/corgi" store check "$state/corgi.db"
}

@test "a log that is removed under the daemon is noticed" {
    corgid_start
    [ "$(submit)" = 201 ]
    rm "$state/corgi.db-wal"
    read_only "removed or replaced"
}

@test "a stored quote or event that is damaged is never handed out, and the check finds it" {
    corgid_start
    for _ in 1 2 3; do
        [ "$(submit)" = 201 ]
    done
    corgid_stop
    "$CORGI_BIN/corgi" store check "$state/corgi.db"
    # As flipped bits would: one is no JSON any more, one says something else.
    sqlite3 "$state/corgi.db" "PRAGMA ignore_check_constraints = ON;
        UPDATE quotes SET detail = replace(detail, '{', '[') WHERE job = 1;
        UPDATE quotes SET detail = replace(detail, '\"confidence\":0', '\"confidence\":4')
            WHERE job = 2;
        UPDATE events SET data = substr(data, 2) WHERE job = 1 AND kind = 'job';"
    corgid_start
    for job in 1 2 3; do
        api GET "/v1/jobs/$job" > "$CORGID_DIR/answer"
        python3 -m json.tool < "$CORGID_DIR/answer" > /dev/null
        field quote.verdict < "$CORGID_DIR/answer" | grep -q accepted
    done
    [ "$(api GET /v1/jobs/1 | field quote.damaged)" = True ]
    [ "$(api GET /v1/jobs/2 | field quote.damaged)" = True ]
    run ! grep -q damaged <(api GET /v1/jobs/3)
    grep -q store_text_damaged "$CORGID_DIR/log"
    api GET /v1/events "" -N --max-time 2 -H 'Last-Event-ID: 0' > "$CORGID_DIR/events" || true
    sed -n 's/^data: //p' "$CORGID_DIR/events" | python3 -c '
import json, sys
count = sum(1 for line in sys.stdin if json.loads(line) is not None)
assert count >= 3, count'
    run "$CORGI_BIN/corgi" store check "$state/corgi.db"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"the text of quote "*" of job 1 is damaged"* ]]
    [[ $output == *"the text of quote "*" of job 2 is damaged"* ]]
    [[ $output == *"the text of event "*" is damaged"* ]]
    # Whole again with another quote: the daemon goes on.
    [ "$(submit)" = 201 ]
}

# A small file system of its own, which root can have.
small_disk() {
    [ "$(id -u)" = 0 ] || skip "needs root: a small file system"
    mkdir -p "$state"
    mount -t tmpfs -o size=6m tmpfs "$state" || skip "cannot mount here"
    mounted=$state
}

fill() {
    dd if=/dev/zero of="$state/ballast" bs=4k 2> /dev/null || true
    [ "$(df --output=avail "$state" | tail -1)" -eq 0 ]
}

start_reading() {
    "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml" 2>> "$CORGID_DIR/log" 3>&- &
    CORGID_PID=$!
    for _ in $(seq 200); do
        [ "$(api GET /readyz 2> /dev/null | field status 2> /dev/null)" = read_only ] && return 0
        kill -0 "$CORGID_PID" 2> /dev/null || break
        sleep 0.05
    done
    cat "$CORGID_DIR/log"
    return 1
}

@test "a daemon starts on a full disk after a stop: it reads, says so, and goes on when there is space" {
    small_disk
    corgid_start
    [ "$(submit)" = 201 ]
    [ "$(submit)" = 201 ]
    corgid_stop
    fill
    start_reading
    [ "$(api_status GET /v1/jobs/2)" = 200 ]
    read_only "full"
    rm "$state/ballast"
    ready_again
    [ "$(jobs)" = 3 ]
    corgid_stop
    corgid_start
    [ "$(jobs)" = 3 ]
    "$CORGI_BIN/corgi" store check "$state/corgi.db"
}

@test "a daemon starts on a full disk after a kill, with all that was acknowledged" {
    small_disk
    corgid_start
    for _ in $(seq 20); do
        [ "$(submit)" = 201 ]
    done
    corgid_kill
    fill
    start_reading
    [ "$(api_status GET /v1/jobs/20)" = 200 ]
    read_only "full"
    rm "$state/ballast"
    ready_again
    [ "$(jobs)" = 21 ]
    corgid_kill
    corgid_start
    [ "$(jobs)" = 21 ]
    "$CORGI_BIN/corgi" store check "$state/corgi.db"
}

@test "what a full disk refused is stored as soon as there is space, whoever notices it first" {
    small_disk
    corgid_start
    [ "$(submit)" = 201 ]
    fill
    api POST /v1/jobs/1/cancel '{}' | grep -q 'it is done, but could not be stored yet' # and not undone
    [ "$(api GET /v1/jobs/1 | field state)" = cancelled ]
    [ "$(submit)" = 503 ]
    rm "$state/ballast"
    [ "$(submit)" = 201 ]
    sleep 0.3
    corgid_kill
    corgid_start
    [ "$(api GET /v1/jobs/1 | field state)" = cancelled ]
}

# world JUMP_MS FULL: how far the clock of daemons started with it has jumped, and whether
# the disk takes nothing (tests/chaos/chaos_preload.c)
world() {
    python3 -c 'import struct, sys
open(sys.argv[1], "r+b").write(struct.pack("5q", int(sys.argv[2]), 0, int(sys.argv[3]), 0, 0))' \
        "$CORGID_DIR/world" "$1" "$2"
}

@test "a clock that is set back while the disk is full keeps nobody waiting when there is space" {
    head -c 40 /dev/zero > "$CORGID_DIR/world"
    cat > "$CORGID_DIR/c.yaml" << END
engine: local
state: $state
listen: {socket: $CORGID_SOCKET}
local: {gpus: false, memory_cgroups: false, cpus: [{type: cpu-x, cores: "0", quota: 0.2}]}
END
    CHAOS_WORLD=$CORGID_DIR/world LD_PRELOAD=$CORGI_BIN/../tests/libchaos_preload.so corgid_start
    world 61000 0
    id=$(api POST /v1/jobs '{"name": "a", "command": ["true"]}' | field job.id)
    for _ in $(seq 50); do
        [ "$(api GET "/v1/jobs/$id" | field state)" != "done" ] || break
        sleep 0.1
    done
    [ "$(api GET "/v1/jobs/$id" | field state)" = "done" ] # a round in the time that will not have been
    world 61000 1
    [ "$(api_status POST /v1/jobs '{"name": "c", "command": ["true"]}')" = 503 ]
    world 0 1
    sleep 1
    world 0 0
    for _ in $(seq 50); do
        [ "$(api_status GET /readyz)" != 200 ] || break
        sleep 0.1
    done
    [ "$(api_status GET /readyz)" = 200 ]
    id=$(api POST /v1/jobs '{"name": "b", "command": ["true"]}' | field job.id)
    for _ in $(seq 50); do
        [ "$(api GET "/v1/jobs/$id" | field state)" != "done" ] || break
        sleep 0.1
    done
    [ "$(api GET "/v1/jobs/$id" | field state)" = "done" ]
}
