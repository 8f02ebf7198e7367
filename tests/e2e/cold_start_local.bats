#!/usr/bin/env bats
# A cold start with real processes: a program nobody described, which prints nothing but its steps,
# is taken, measured for a minute and promised what it asked for.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    write_config "$BATS_TEST_TMPDIR" 1
    start_daemon "$BATS_TEST_TMPDIR"
}
# A job outlives its daemon.
teardown() {
    daemon_post "$BATS_TEST_TMPDIR" /v1/jobs/1/cancel > /dev/null
    await_state "$BATS_TEST_TMPDIR" 1 cancelled 20
    stop_daemon "$BATS_TEST_TMPDIR"
}

# Twenty steps a second, more or less; each line is "step i/N".
steps="i=0; while [ \$i -lt 100000 ]; do i=\$((i + 1)); echo \"step \$i/100000\"; sleep 0.05; done"

show() { daemon_get "$BATS_TEST_TMPDIR" /v1/jobs/1; }

@test "printed steps are enough for a promise, and what taught nothing is counted by reason" {
    dir=$BATS_TEST_TMPDIR
    submit_job "$dir" steps '"need":{"kind":"rate","rate":2},"on_counter":"refuse"' "$steps" > "$dir/answer"
    [ "$(jq -r .quote.verdict "$dir/answer")" = unpromised ]
    [ "$(jq -r .job.promise "$dir/answer")" = pending ]
    for _ in $(seq 150); do
        [ "$(show | jq -r .promise)" != pending ] && break
        sleep 1
    done
    show
    [ "$(show | jq -r .promise)" = given ]
    [ "$(show | jq -r .promised_rate)" = 2 ]
    [ "$(show | jq '.rate > 2 and .rate < 25')" = true ]
    # The first windows began before its place was settled or before it printed enough: all others teach.
    refused=$(show | jq '[.measurements_refused[]] | add // 0')
    counted=$(daemon_get "$dir" /metrics | awk '/^corgi_measurements_refused_total/ { n += $2 } END { print n + 0 }')
    [ "$refused" -eq "$counted" ]
    [ "$(show | jq '.measurements_refused.doubted // 0')" -lt 5 ]
    # It holds next to nothing, which is seen: the 1 GB of any device are enough.
    [ "$(daemon_get "$dir" '/v1/estimates?job=1&beside=none' | jq '[.cells[] | select(.fits < 0.8)] | length')" -eq 0 ]
}
