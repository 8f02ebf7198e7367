#!/usr/bin/env bats
# corgi devices: on this machine as it is, and on eight pretended GPUs of a fake NVML
# library found by the same dlopen() as the real one.

bats_require_minimum_version 1.5.0

setup() {
    corgi="$CORGI_BIN/corgi"
    fake="$CORGI_BIN/../tests/fake"
    scripts="$BATS_TEST_DIRNAME/../fake/scripts"
    job=
}

teardown() {
    if [ -n "$job" ]; then
        kill -KILL "$job" 2>/dev/null || true
    fi
}

with_fake() { # script, arguments of corgi...
    local script=$1
    shift
    LD_LIBRARY_PATH="$fake" CORGI_FAKE_NVML="$script" timeout 50 "$corgi" "$@"
}

device_value() { # number, key; the JSON on standard input
    jq -c ".devices[$1].$2"
}

@test "a machine as it is has a list of devices" {
    run "$corgi" devices --json
    [ "$status" -eq 0 ]
    jq -e '.devices | length >= 0' <<<"$output"
    run "$corgi" devices
    [ "$status" -eq 0 ]
    [[ $output == *UUID* ]]
}

@test "eight fake GPUs of four generations are told apart" {
    run --separate-stderr with_fake "$scripts/eight.nvml" devices --json
    [ "$status" -eq 0 ]
    [ "$(grep -c '"backend": "nvml"' <<<"$output")" -eq 8 ]
    [ "$(device_value 0 catalogue <<<"$output")" = '"k80"' ]
    [ "$(device_value 2 catalogue <<<"$output")" = '"p100-16"' ]
    [ "$(device_value 4 catalogue <<<"$output")" = '"v100-sxm2-16"' ]
    [ "$(device_value 7 catalogue <<<"$output")" = '"a100-40"' ]
    [ "$(device_value 0 energy_counter <<<"$output")" = false ]
    [ "$(device_value 4 energy_counter <<<"$output")" = true ]
    [ "$(device_value 4 method <<<"$output")" = '"instant"' ]
    [ "$(device_value 6 method <<<"$output")" = '"average-1s"' ]
    [ "$(device_value 6 watts <<<"$output")" = 50 ]
    [ "$(device_value 0 limit_min_watts <<<"$output")" = 100 ]
}

@test "the fake is named as a fake" {
    run --separate-stderr with_fake "$scripts/eight.nvml" devices --json
    [ "$(device_value 0 driver <<<"$output")" = '"fake-550.54"' ]
    [ "$(grep -c '"uuid": "GPU-fake' <<<"$output")" -eq 8 ]
}

@test "a process that is given a fake GPU draws power there" {
    uuid=GPU-fake0000-0000-0000-0000-000000000004
    CUDA_VISIBLE_DEVICES=$uuid setsid sleep 50 3>&- &
    job=$!
    disown
    for _ in $(seq 100); do
        run --separate-stderr with_fake "$scripts/eight.nvml" devices --json
        [ "$(device_value 4 watts <<<"$output")" = 140 ] && break
        sleep 0.1
    done
    [ "$(device_value 4 watts <<<"$output")" = 140 ]
    [ "$(device_value 5 watts <<<"$output")" = 41 ]
    [ "$(device_value 4 utilisation <<<"$output")" = 0.4 ]
    jq -e '.devices[4].processes | length == 1' <<<"$output"
}

@test "a driver that hangs is reported, the others go on" {
    printf 'gpu name="Tesla K80" arch=2\nhang nvmlDeviceGetTemperature 0\ngpu name="Tesla K80"\n' \
        >"$BATS_TEST_TMPDIR/hang"
    run --separate-stderr with_fake "$BATS_TEST_TMPDIR/hang" devices --json
    [ "$status" -eq 0 ]
    [ "$(device_value 0 status <<<"$output")" = '"hung"' ]
    [[ $(device_value 0 error <<<"$output") == *"does not answer"* ]]
    [ "$(device_value 1 status <<<"$output")" = '"ok"' ]
}

@test "a watch counts joules and notices an unplugged device" {
    printf 'gpu name="Tesla V100-SXM2-16GB"\npower 0 200\nunplug 0.7\n' >"$BATS_TEST_TMPDIR/unplug"
    run --separate-stderr with_fake "$BATS_TEST_TMPDIR/unplug" devices --watch --count 8 \
        --interval 0.2 --json
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 8 ]
    [[ ${lines[0]} == *'"status":"ok"'* ]]
    [[ ${lines[7]} == *'"status":"lost"'* ]]
    # 200 W for at most 0.7 s, and more than nothing
    jq -e '.devices[0].joules | . > 0 and . <= 140' <<<"${lines[7]}"
}

@test "MIG instances are devices without a meter of their own" {
    printf 'gpu name="NVIDIA A100-SXM4-40GB" arch=7\nmig 2 19968\n' >"$BATS_TEST_TMPDIR/mig"
    run --separate-stderr with_fake "$BATS_TEST_TMPDIR/mig" devices --json
    [ "$(device_value 0 partitioned <<<"$output")" = true ]
    [ "$(device_value 1 kind <<<"$output")" = '"mig"' ]
    [ "$(device_value 2 parent <<<"$output")" = 0 ]
    [ "$(device_value 2 watts <<<"$output")" = null ]
}

@test "a broken script of the fake is no reason to fail" {
    echo "nonsense" >"$BATS_TEST_TMPDIR/bad"
    run --separate-stderr with_fake "$BATS_TEST_TMPDIR/bad" devices --json
    [ "$status" -eq 0 ]
    [[ $stderr == *"fake NVML: "*"line 1"* ]]
    [[ $output == *"nvml: cannot start"* ]]
}

@test "--count without --watch is wrong use" {
    run "$corgi" devices --count 3
    [ "$status" -eq 2 ]
    run "$corgi" devices --interval 0
    [ "$status" -eq 2 ]
}
