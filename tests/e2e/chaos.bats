#!/usr/bin/env bats
# Two minutes of tests/chaos/run; an hour is `tests/chaos/run --minutes 60 --seed N`.  When it
# fails, its output names the seed and where states, logs and the jobs' books are kept.

@test "two minutes of chaos: every invariant holds" {
    run python3 "$BATS_TEST_DIRNAME/../chaos/run" --minutes "${CORGI_CHAOS_MINUTES:-2}" \
        --seed "${CORGI_CHAOS_SEED:-15}" --build "$CORGI_BIN/.." --keep "${TMPDIR:-/tmp}"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"every invariant held"* ]]
}
