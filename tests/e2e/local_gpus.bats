#!/usr/bin/env bats
# The daemon and the local engine on eight pretended GPUs of four generations: the fake
# NVML of tests/fake, whose devices draw power for each session of processes that has
# their UUID in CUDA_VISIBLE_DEVICES.
bats_require_minimum_version 1.5.0

load local_daemon

scripts=$BATS_TEST_DIRNAME/../fake/scripts

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
    cp "$scripts/eight.nvml" "$dir/script"
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

@test "jobs run on all eight, and their energy is measured" {
    start_daemon "$dir"
    [ "$(daemon_get "$dir" /v1/devices | jq '.devices | length')" = 8 ]
    [ "$(daemon_get "$dir" /v1/devices | jq '[.devices[].type] | unique | length')" = 4 ]
    for n in $(seq 8); do
        submit_job "$dir" "job-$n" '"share":false,"total_steps":200' \
            "echo \$CUDA_VISIBLE_DEVICES > $dir/saw-$n; i=0; while [ \$i -lt 40 ]; do i=\$((i+1)); echo step \$((5*i))/200; sleep 0.2; done" > /dev/null
    done
    await_idle "$dir" 60
    [ "$(daemon_get "$dir" /v1/summary | jq .jobs.done)" = 8 ]
    [ "$(cat "$dir"/saw-* | sort -u | grep -c '^GPU-')" -ge 4 ]
    daemon_get "$dir" "/v1/energy?by=total" > "$dir/energy"
    cat "$dir/energy"
    [ "$(jq '.joules > 1000 and .rows[0].modelled_share < 0.01' "$dir/energy")" = true ]
    no_process_of "$dir"
}

@test "the job of a GPU that is unplugged goes back to the queue" {
    # Two cards, a job on each; the first goes after eight seconds.
    cat > "$dir/script" << 'SCRIPT'
driver fake-550.54
gpu name="Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300
  power 0 40
  unplug 8
gpu name="Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300
  power 0 40
SCRIPT
    start_daemon "$dir"
    for n in 1 2; do
        submit_job "$dir" "mover-$n" '"share":false' \
            "echo \$CORGI_DEVICES >> $dir/where-$n; exec sleep 60" > /dev/null
        await_file "$dir/where-$n" 30
    done
    for _ in $(seq 150); do
        daemon_get "$dir" /v1/devices | jq -r '.devices[].state' | grep -q failed && break
        sleep 0.2
    done
    # The one of device 0 goes back to the queue; its processes are stopped.
    for _ in $(seq 100); do
        [ "$(daemon_get "$dir" /v1/summary | jq .jobs.running)" = 1 ] && break
        sleep 0.2
    done
    daemon_get "$dir" /v1/summary
    [ "$(daemon_get "$dir" /v1/summary | jq '.jobs.running, .devices.failed' | xargs)" = "1 1" ]
    for n in 1 2; do
        daemon_post "$dir" "/v1/jobs/$n/cancel" > /dev/null
    done
    await_idle "$dir" 30
    no_process_of "$dir"
}

@test "a driver that hangs: the daemon answers, the others go on, the card comes back" {
    # Errors of single calls cost nothing; the first card's driver hangs for ten seconds.
    cat > "$dir/script" << 'SCRIPT'
driver fake-550.54
gpu name="Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300
  power 0 40
  follow 100 40 2000
  hang nvmlDeviceGetPowerUsage 7 17
gpu name="NVIDIA A100-SXM4-40GB" arch=7 device_id=0x20b010de memory=40960 limit=400 min=100 max=400
  power 0 50
  follow 140 40 3000
  error nvmlDeviceGetTemperature 999 0
  error nvmlDeviceGetTotalEnergyConsumption 3 4 8
  sentinel nvmlDeviceGetUtilizationRates
SCRIPT
    start_daemon "$dir"
    for n in 1 2; do
        submit_job "$dir" "goes-on-$n" '"share":false' \
            "i=0; while [ ! -e $dir/stop ]; do i=\$((i+1)); echo step \$i/100000; sleep 0.2; done" > /dev/null
    done
    hung=0
    slowest=0
    for _ in $(seq 150); do
        before=$(date +%s%N)
        states=$(daemon_get "$dir" /v1/devices | jq -r '[.devices[].state] | join(" ")')
        took=$((($(date +%s%N) - before) / 1000000))
        [ "$took" -gt "$slowest" ] && slowest=$took
        [[ $states == *failed* ]] && hung=1
        [[ $hung = 1 && $states != *failed* ]] && break
        sleep 0.2
    done
    echo "slowest answer: $slowest ms"
    [ "$hung" = 1 ]
    [[ $states != *failed* ]]
    [ "$slowest" -lt 2000 ] # a busy machine; the driver hung for ten seconds
    await_state "$dir" 1 running 30
    await_state "$dir" 2 running 30
    # Who was on the other card was not disturbed; the one of the first began again.
    [ "$(daemon_get "$dir" "/v1/jobs" | jq '[.jobs[].attempt] | sort | .[0]')" = 1 ]
    [ "$(daemon_get "$dir" "/v1/jobs" | jq '[.jobs[].attempt] | max')" -ge 2 ]
    # The card without a counter for a while was measured by its power meanwhile.
    [ "$(daemon_get "$dir" "/v1/energy?by=total" | jq '.joules > 500 and .rows[0].modelled_share < 0.01')" = true ]
    touch "$dir/stop"
    await_idle "$dir" 30
    no_process_of "$dir"
}
