#!/usr/bin/env bats
# Power limits of eight pretended GPUs (the fake NVML of tests/fake) through the daemon:
# never without consent, within what the cards allow, put back at the end and by the next
# daemon after a crash.
# shellcheck disable=SC2016 # conditions of jq
bats_require_minimum_version 1.5.0

load local_daemon

originals="[149,149,250,250,300,300,400,400]"
least="[100,100,125,125,150,150,100,100]"

setup() {
    dir=$BATS_TEST_TMPDIR
    export LD_LIBRARY_PATH=${CORGI_FAKE:-$CORGI_BIN/../tests/fake}
    export CORGI_FAKE_NVML=$BATS_TEST_DIRNAME/../fake/scripts/eight.nvml
    export CORGI_FAKE_NVML_STATE=$dir/hardware
    [ "$(limits)" = "$originals" ]
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

# begin CAPS: a daemon with or without consent
begin() {
    cat > "$dir/corgi.yaml" << YAML
engine: local
state: $dir/state
listen: {socket: $dir/corgi.sock}
planner: {gap: 0.2s, every: 1s}
local: {gpus: true, caps: $1, window: 1s, power_every: 1s}
YAML
    start_daemon "$dir"
}

# What the cards say now, asked by another process.
limits() {
    "$CORGI_BIN/corgi" devices --json |
        jq -c '[.devices[] | select(.kind == "gpu").limit_watts]'
}

# Jobs that need so little that every card saves power by a limit.
submit_slow_jobs() {
    local n

    for n in $(seq 8); do
        submit_job "$dir" "slow-$n" '"need":{"kind":"rate","rate":1},"total_steps":100000,"share":false' \
            "i=0; while :; do i=\$((i+1)); echo step \$i/100000; sleep 0.2; done" > /dev/null
    done
}

await_limits() { # jq condition on the list, with $originals and $least
    for _ in $(seq 150); do
        limits | jq -e --argjson originals "$originals" --argjson least "$least" "$1" > /dev/null && return 0
        sleep 0.2
    done
    limits
    return 1
}

# Some card is below its original, none is out of its range.
capped='. as $now | ([range(8) | select($now[.] < $originals[.])] | length >= 4) and
    ([range(8) | select($now[.] < $least[.] or $now[.] > $originals[.])] | length == 0)'

@test "with consent limits are set within the range, and put back when the daemon ends" {
    begin true
    submit_slow_jobs
    await_limits "$capped"
    stop_daemon "$dir"
    [ "$(limits)" = "$originals" ]
}

@test "after a daemon was killed the next one puts them back, with or without consent" {
    for consent in true false; do
        begin true
        submit_slow_jobs
        await_limits "$capped"
        stop_daemon "$dir" KILL
        limits | jq -e --argjson originals "$originals" --argjson least "$least" "$capped"
        processes_of "$dir" | xargs -r kill -9 || true
        begin "$consent"
        [ "$(grep -c "power_limit_restored" "$dir/log")" -ge 4 ]
        # One that may not limit them has nothing else to do with them.
        [ "$consent" = true ] || [ "$(limits)" = "$originals" ]
        stop_daemon "$dir"
        [ "$(limits)" = "$originals" ]
        rm -rf "$dir/state" "$dir/log"
    done
}

@test "without consent nothing is touched, whoever asks" {
    begin false
    submit_slow_jobs
    for _ in $(seq 20); do
        [ "$(limits)" = "$originals" ]
        sleep 0.1
    done
    device=$(daemon_get "$dir" /v1/devices | jq -r '.devices[0].name')
    daemon_post "$dir" "/v1/devices/$device/power" '{"cap_watts": 120}' > "$dir/answer"
    cat "$dir/answer"
    jq -e ".error.message" "$dir/answer"
    [ "$(limits)" = "$originals" ]
    stop_daemon "$dir" KILL
    [ "$(limits)" = "$originals" ]
}
