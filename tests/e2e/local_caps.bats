#!/usr/bin/env bats
# Power limits of eight pretended GPUs (the fake NVML of tests/fake) through the daemon:
# never without consent, within what the cards allow, put back at the end and by the next
# daemon after a crash.
bats_require_minimum_version 1.5.0

load local_daemon

originals="[149,149,250,250,300,300,400,400]"

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

# As an operator would; the planner may do the same for jobs that need less.
wanted="[120,120,150,150,200,200,200,200]"
cap_all() {
    local n

    for n in $(seq 0 7); do
        daemon_post "$dir" "/v1/devices/$(device "$n")/power" \
            '{"cap_watts": '"$(jq ".[$n]" <<< "$wanted")"'}' > "$dir/answer"
    done
}

device() { # number
    daemon_get "$dir" /v1/devices | jq -r ".devices[$1].name"
}

await_limits() { # list
    for _ in $(seq 100); do
        [ "$(limits)" = "$1" ] && return 0
        sleep 0.2
    done
    limits
    return 1
}

@test "with consent limits are set within the range, and put back when the daemon ends" {
    begin true
    cap_all
    await_limits "$wanted"
    # Out of the card's range: a sentence, and nothing is changed.
    daemon_post "$dir" "/v1/devices/$(device 0)/power" '{"cap_watts": 20}' | jq -e .error.message
    daemon_post "$dir" "/v1/devices/$(device 0)/power" '{"cap_watts": 5000}' | jq -e .error.message
    [ "$(limits)" = "$wanted" ]
    # Lifted one by one, too.
    daemon_post "$dir" "/v1/devices/$(device 0)/power" '{"cap_watts": null}' > /dev/null
    await_limits "$(jq -c ".[0] = 149" <<< "$wanted")"
    stop_daemon "$dir"
    [ "$(limits)" = "$originals" ]
}

@test "after a daemon was killed the next one puts them back, with or without consent" {
    for consent in true false; do
        begin true
        cap_all
        await_limits "$wanted"
        stop_daemon "$dir" KILL
        [ "$(limits)" = "$wanted" ]
        begin "$consent"
        [ "$(grep -c "power_limit_restored" "$dir/log")" -ge 8 ]
        # One that may not limit them has nothing else to do with them.
        [ "$consent" = true ] || [ "$(limits)" = "$originals" ]
        stop_daemon "$dir"
        [ "$(limits)" = "$originals" ]
        rm -rf "$dir/state" "$dir/log"
    done
}

@test "without consent nothing is touched, whoever asks" {
    begin false
    for n in $(seq 8); do # for which the planner would limit every card
        submit_job "$dir" "slow-$n" '"need":{"kind":"rate","rate":1},"total_steps":100000,"share":false' \
            "i=0; while :; do i=\$((i+1)); echo step \$i/100000; sleep 0.2; done" > /dev/null
    done
    for _ in $(seq 20); do
        [ "$(limits)" = "$originals" ]
        sleep 0.1
    done
    daemon_post "$dir" "/v1/devices/$(device 0)/power" '{"cap_watts": 120}' | jq -e .error.message
    [ "$(limits)" = "$originals" ]
    stop_daemon "$dir" KILL
    [ "$(limits)" = "$originals" ]
}
