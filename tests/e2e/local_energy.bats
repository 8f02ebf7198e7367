#!/usr/bin/env bats
# Whose joules they are: jobs that share a pretended GPU of the fake NVML in tests/fake,
# from its meter to `corgi energy` and `corgi show`.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    cat > "$dir/corgi.yaml" << YAML
engine: local
state: $dir/state
listen: {socket: $dir/corgi.sock}
planner: {gap: 0.2s, every: 1s}
local:
  gpus: true
  window: 1s
  power_every: 1s
YAML
    export LD_LIBRARY_PATH=${CORGI_FAKE:-$CORGI_BIN/../tests/fake}
    export CORGI_FAKE_NVML=$dir/script CORGI_FAKE_NVML_STATE=$dir/hardware
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

# Eight cards of four generations, one of them a V100, on which each session of processes
# draws 20 W: a job is two (its probe, itself), one with two more sessions is four.
write_shared_script() {
    {
        echo "driver fake-550.54"
        for card in 'Tesla K80" arch=2 memory=11441 limit=149 min=100 max=175 energy=no' \
            'Tesla K80" arch=2 memory=11441 limit=149 min=100 max=175 energy=no' \
            'Tesla P100-PCIE-16GB" arch=4 memory=16280 limit=250 min=125 max=250 energy=no' \
            'Tesla P100-PCIE-16GB" arch=4 memory=16280 limit=250 min=125 max=250 energy=no' \
            'Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300' \
            'NVIDIA A100-SXM4-40GB" arch=7 memory=40960 limit=400 min=100 max=400' \
            'NVIDIA A100-SXM4-40GB" arch=7 memory=40960 limit=400 min=100 max=400' \
            'NVIDIA A100-SXM4-40GB" arch=7 memory=40960 limit=400 min=100 max=400'; do
            printf 'gpu name="%s\n  power 0 40\n  follow 20 10 500\n' "$card"
        done
    } > "$dir/script"
}

@test "energy of jobs that share a GPU: by who comes and goes, with an error bar, and it adds up" {
    write_shared_script
    start_daemon "$dir"
    v100=$(daemon_get "$dir" /v1/devices | jq -r '[.devices[] | select(.type | test("v100"))] | .[0].type')
    [ "$(daemon_get "$dir" /v1/devices | jq '[.devices[].type] | unique | length')" = 4 ]
    sleep 3 # what idle draws is seen
    submit_job "$dir" small '"types":["'"$v100"'"],"memory_gb":1' "date +%s.%N > $dir/small-1; sleep 18; date +%s.%N > $dir/small-2" > /dev/null
    await_file "$dir/small-1" 30
    sleep 7
    submit_job "$dir" large '"types":["'"$v100"'"],"memory_gb":1' "setsid sleep 18 & setsid sleep 18 & date +%s.%N > $dir/large-1; sleep 18; date +%s.%N > $dir/large-2" > /dev/null
    # Others meanwhile, on other cards.
    for n in 1 2 3 4; do
        submit_job "$dir" "other-$n" '"memory_gb":1,"types":'"$(daemon_get "$dir" /v1/devices | jq -c --arg v "$v100" '[.devices[].type | select(. != $v)] | unique')" "sleep 5" > /dev/null
    done
    await_file "$dir/large-1" 30
    await_idle "$dir" 60
    sleep 2.5 # the last reading
    "$CORGI_BIN/corgi" energy --by job --socket "$dir/corgi.sock"
    "$CORGI_BIN/corgi" show --socket "$dir/corgi.sock" 1 | grep -E "energy +[0-9.]+ k?J \([0-9.]+ k?J to [0-9.]+ k?J\)"
    # Idle cards draw on: both tables are of the same moment when nothing was written between.
    for _ in 1 2 3 4 5; do
        daemon_get "$dir" "/v1/energy?by=job" > "$dir/by-job"
        daemon_get "$dir" "/v1/energy?by=device" > "$dir/by-device"
        daemon_get "$dir" "/v1/energy?by=job" > "$dir/by-job-again"
        [ "$(jq -c .rows "$dir/by-job")" = "$(jq -c .rows "$dir/by-job-again")" ] && break
    done
    # The sums are the same, to the millijoule.
    jq -e -n --slurpfile j "$dir/by-job" --slurpfile d "$dir/by-device" \
        '([$j[0].rows[].joules] | add) as $a | ([$d[0].rows[].joules] | add) as $b | ($a - $b) * ($a - $b) < 1e-6'
    # Alone, together, alone: 40 W idle, 40 W and 80 W of their own.
    awk -v s1="$(< "$dir/small-1")" -v s2="$(< "$dir/small-2")" -v l1="$(< "$dir/large-1")" -v l2="$(< "$dir/large-2")" \
        -v small="$(jq '.rows[] | select(.key == "1").joules' "$dir/by-job")" \
        -v large="$(jq '.rows[] | select(.key == "2").joules' "$dir/by-job")" \
        -v small_high="$(jq '.rows[] | select(.key == "1").joules_high' "$dir/by-job")" \
        -v large_high="$(jq '.rows[] | select(.key == "2").joules_high' "$dir/by-job")" '
        function off(a, b) { return a > b ? a - b : b - a }
        BEGIN {
            both = s2 - l1
            ts = 40 * (s2 - s1) + 40 * (s2 - s1 - both) + 20 * both
            tl = 80 * (l2 - l1) + 40 * (l2 - l1 - both) + 20 * both
            printf "small %.0f J, drew %.0f; large %.0f J, drew %.0f\n", small, ts, large, tl
            exit !(both > 5 && off(small, ts) < 0.15 * ts && off(large, tl) < 0.15 * tl &&
                small_high > small && large_high > large)
        }'
    # All of it was measured: no card is without a meter.
    [ "$(daemon_get "$dir" "/v1/energy?by=total" | jq '.rows[0].modelled_share < 0.01')" = true ]
}

@test "jobs that are over before their device is read are booked on their user" {
    write_shared_script
    start_daemon "$dir"
    # Cards are read every second, and the fake card draws what it is read with: one reading
    # falls into each job, the next comes when the job is over.
    v100=$(daemon_get "$dir" /v1/devices | jq -r '[.devices[] | select(.type | test("v100"))] | .[0].type')
    sleep 2 # what idle draws is seen
    for n in 1 2; do
        submit_job "$dir" "short-$n" '"memory_gb":1,"types":["'"$v100"'"]' "sleep 1.3" > /dev/null
    done
    await_idle "$dir" 60
    sleep 2.5 # the last reading
    daemon_get "$dir" "/v1/energy?by=user" > "$dir/by-user"
    jq -e --arg me "$(id -un)" '.rows[] | select(.key == $me).joules > 1' "$dir/by-user"
    daemon_get "$dir" "/v1/energy?by=job" > "$dir/by-job"
    # Nobody has what was drawn with no job there, and only that.
    jq -e -n --slurpfile j "$dir/by-job" --slurpfile u "$dir/by-user" --arg me "$(id -un)" \
        '([$j[0].rows[] | select(.key == "1" or .key == "2").joules] | add) as $a |
         ([$u[0].rows[] | select(.key == $me).joules] | add) as $b | ($a - $b) * ($a - $b) < 1e-6'
    stop_daemon "$dir"
    "$CORGI_BIN/corgi" store check "$dir/state/corgi.db"
}
