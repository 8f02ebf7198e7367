#!/usr/bin/env bats
# kill -9 under load.  CORGI_KILLS=200 for the long version.

load ../support/corgid.bash

setup() { corgid_folder; }
teardown() { rm -rf "$CORGID_DIR"; }

@test "what was acknowledged survives kill -9, and nothing runs twice" {
    run python3 "$BATS_TEST_DIRNAME/../support/crash.py" "$CORGI_BIN/corgid" "$CORGID_DIR" \
        "${CORGI_KILLS:-20}" 1
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"none lost, none twice"* ]]
}
