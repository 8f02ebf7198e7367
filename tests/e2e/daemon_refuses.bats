#!/usr/bin/env bats
# What the daemon refuses: those without rights, malformed requests, a disk that is full.

load ../support/corgid.bash

setup() { corgid_folder; }
teardown() { corgid_clean; }

@test "no route answers those who may not use it" {
    getent passwd daemon > /dev/null || skip "there is no user called daemon"
    # shellcheck disable=SC2153  # set by corgid.bash
    sed -i 's|^listen: {|listen: {tcp: "127.0.0.1:0", |' "$CORGID_DIR/c.yaml"
    corgid_start
    port=$(sed -n 's/.* listening .* port=\([0-9]*\).*/\1/p' "$CORGID_DIR/log")
    run python3 "$BATS_TEST_DIRNAME/../support/access.py" "$CORGID_SOCKET" "$port" \
        "$BATS_TEST_DIRNAME/../../src/http/api.h"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "malformed requests are refused by name and change nothing" {
    corgid_start
    run python3 "$BATS_TEST_DIRNAME/../support/malformed.py" "$CORGID_SOCKET"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a million jobs in a list are refused also where bodies may be that large" {
    echo 'limits: {body_kb: 65536}' >> "$CORGID_DIR/c.yaml"
    corgid_start
    run python3 - "$CORGID_SOCKET" "$BATS_TEST_DIRNAME/../support" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[2])
import malformed
malformed.million(sys.argv[1])
assert malformed.jobs(malformed.Connection(sys.argv[1])) == 0
PYTHON
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(api_status GET /readyz)" = 200 ]
}

# Files may not grow beyond so many kilobytes, as if the disk were full.
start_with_small_disk() { # kilobytes
    (
        trap '' XFSZ
        ulimit -f "$1"
        exec "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml" 2>> "$CORGID_DIR/log" 3>&-
    ) &
    export CORGID_PID=$!
    for _ in $(seq 200); do
        [ "$(api_status GET /readyz)" = 200 ] && return 0
        sleep 0.05
    done
    cat "$CORGID_DIR/log"
    return 1
}

@test "a full disk is told, reading goes on, and nothing acknowledged is lost" {
    start_with_small_disk 1200
    acknowledged=0
    refused=0
    # A moment's refusal may pass: when the log is taken over, or when the little that is
    # written to try the disk still fits.  Refused often and said so: it is full.
    for i in $(seq 3000); do
        code=$(api_status POST /v1/jobs "{\"name\": \"n$i\", \"hold\": true}")
        if [ "$code" = 201 ]; then
            acknowledged=$((acknowledged + 1))
            continue
        fi
        refused=$((refused + 1))
        state=$(api GET /readyz | field status)
        [ "$refused" -ge 5 ] && [ "$state" = read_only ] && break
    done
    echo "$acknowledged acknowledged, then $code"
    [ "$code" = 503 ]
    [ "$acknowledged" -gt 10 ]
    [ "$state" = read_only ]
    [ "$(api GET '/v1/jobs?state=active&limit=1' | field total)" = "$acknowledged" ]
    [ "$(api_status GET /metrics)" = 200 ]
    corgid_kill
    corgid_start
    [ "$(api GET '/v1/jobs?state=active&limit=1' | field total)" = "$acknowledged" ]
    [ "$(api_status POST /v1/jobs '{}')" = 201 ]
    "$CORGI_BIN/corgi" store check "$CORGID_DIR/state/corgi.db"
}
