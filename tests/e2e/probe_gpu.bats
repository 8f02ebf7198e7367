#!/usr/bin/env bats
# corgi-probe over jobs that say nothing but keep a GPU busy: the fake NVML of tests/fake,
# whose devices are used by each session of processes that has their UUID in
# CUDA_VISIBLE_DEVICES.
# shellcheck disable=SC2016 # the jobs' shells expand it
bats_require_minimum_version 1.5.0

setup() {
    dir=$(mktemp -d)
    export LD_LIBRARY_PATH=${CORGI_FAKE:-$CORGI_BIN/../tests/fake}
    export CORGI_FAKE_NVML=$dir/script CORGI_FAKE_NVML_STATE=$dir/hardware
    card uuid=GPU-fake-a
    card uuid=GPU-fake-b
}

teardown() {
    [ -z "${listener:-}" ] || kill "$listener" 2> /dev/null || true
    [ ! -s "$dir/beside" ] || kill -KILL "$(< "$dir/beside")" 2> /dev/null || true
    rm -rf "$dir"
}

# card SETTING [LINE]...: one more pretended V100 that a job uses to 40 %
card() {
    {
        echo "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384 limit=300 min=150 max=300 $1"
        printf '  %s\n' "power 0 40" "follow 100 40 2000" "${@:2}"
    } >> "$dir/script"
}

# probe DEVICES COMMAND...: the status is in $dir/job/status afterwards
probe() {
    CUDA_VISIBLE_DEVICES=$1 timeout 90 "$CORGI_BIN/corgi-probe" --job 1 --dir "$dir/job" \
        --window 1 --report "unix:$dir/reports" -- "${@:2}"
}

# probe_silent DEVICES: a job of one process that says nothing and runs until its rate has
# been reported, and three windows longer
probe_silent() {
    mkfifo "$dir/rated"
    python3 - "$dir/reports" "$dir/rated" << 'PY' &
import socket, sys, time
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reports.bind(sys.argv[1])
while b"kind=rate" not in reports.recv(4096):
    pass
time.sleep(3)
open(sys.argv[2], "w").close()
PY
    listener=$!
    probe "$1" cat "$dir/rated"
}

rate_is() { # low high
    cat "$dir/job/status"
    sed -n 's/.*\brate=\([^ ]*\).*/\1/p' "$dir/job/status" |
        awk -v low="$1" -v high="$2" '{ n++; ok = $1 > low && $1 < high } END { exit !(n && ok) }'
}

@test "a silent job's rate is how busy it keeps its GPU" {
    probe_silent GPU-fake-a
    rate_is 0.36 0.44
}

@test "two GPUs count twice, and another's process on them not at all" {
    CUDA_VISIBLE_DEVICES=GPU-fake-a setsid -f sh -c "echo \$\$ > $dir/beside; exec sleep 60"
    probe_silent GPU-fake-a,GPU-fake-b
    rate_is 0.72 0.88
}

@test "without a GPU of its own it is processor time" {
    probe "" sh -c 'end=$(($(date +%s) + 6)); while [ "$(date +%s)" -lt $end ]; do :; done'
    rate_is 0.05 1.5
}

@test "a driver that does not tell of processes: what the device does" {
    rm "$dir/script"
    card uuid=GPU-fake-a "util 0 70" "error nvmlDeviceGetProcessUtilization 3 0" \
        "error nvmlDeviceGetComputeRunningProcesses_v2 3 0"
    probe_silent GPU-fake-a
    rate_is 0.65 1.1 # the fake adds what follows to what is scripted
}

@test "a job that speaks is never measured by its GPU" {
    probe GPU-fake-a sh -c 'for i in $(seq 60); do echo "step $i/60"; sleep 0.1; done'
    rate_is 4 11
}

@test "a driver that hangs costs the job nothing" {
    rm "$dir/script"
    card uuid=GPU-fake-a "hang nvmlDeviceGetUtilizationRates 0 600"
    SECONDS=0
    probe GPU-fake-a sh -c 'sleep 4; echo said; exit 3' > "$dir/out" || status=$?
    [ "$status" = 3 ]
    [ "$(< "$dir/out")" = said ]
    [ "$SECONDS" -lt 20 ]
}
