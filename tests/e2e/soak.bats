#!/usr/bin/env bats
# The short form of tests/chaos/soak: lives go through, all of them are counted, and what the
# daemon keeps of them is bounded.

@test "two thousand lives are counted, and leave little behind" {
    run timeout 120 "$BATS_TEST_DIRNAME/../chaos/soak" "$CORGI_BIN" --lives 2000 --most-growth 100
    echo "$output"
    [ "$status" -eq 0 ]
}
