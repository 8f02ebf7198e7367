#!/usr/bin/env bats
# A crowd that follows the events of a real corgid, and some of it stalled.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 600, measure: 2m, power: 2m}/' "$CORGID_DIR/c.yaml"
    echo 'limits: {requests_per_second: 0}' >> "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

@test "1,000 follow, 50 of them stalled: memory is bounded and the others miss nothing" {
    [ "$(ulimit -Hn)" -ge 2400 ] || skip "needs 2,400 descriptors"
    ulimit -n "$(ulimit -Hn)"
    corgid_start
    run python3 "$BATS_TEST_DIRNAME/../support/streams.py" "$CORGID_SOCKET" "$CORGID_PID" \
        1000 50 "${CORGI_STREAM_JOBS:-250}"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(api_status GET /readyz)" = 200 ]
}
