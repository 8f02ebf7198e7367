#!/bin/bash
# slurm_placements.sh - how many placements a second Corgi has applied by a real slurmctld
#
#   bench/slurm_placements.sh [--jobs 200] [--times 3] [--gap 0.25s] [--bin DIR]
#
# Thirteen nodes of eight GPUs, two shards a GPU: 208 seats.  Corgi is paused while users hand the jobs in;
# then it goes on.  Prints, for each time, how long it took from the first decision until slurmctld had
# applied the last placement, by its own log, how many orders that were a second, and when the last
# job had begun.  Jobs of one second, so that no seat is used twice meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
jobs=200 times=3 gap=0.25s bin=$here/../build/release/bin
while [ $# -gt 0 ]; do
    case $1 in
    --jobs) jobs=$2 ;;
    --times) times=$2 ;;
    --gap) gap=$2 ;; # between rounds, planner.gap
    --bin) bin=$2 ;;
    *) echo "slurm_placements.sh: unknown option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
bin=$(realpath "$bin")
cluster=$here/../tests/support/slurm_cluster
dir=$(mktemp -d /tmp/slurm-placements.XXXXXX)
chmod 755 "$dir"
lab=$dir/lab pid=''
export CORGI_SOCKET=$dir/s CORGI_SLURM_PLUGIN_CONF=$dir/plugin.conf

# shellcheck disable=SC2317 # a trap
clean() {
    [ -z "$pid" ] || kill "$pid" 2> /dev/null || true
    wait 2> /dev/null || true
    "$cluster" stop "$lab" || true
    rm -rf "$dir"
}
trap clean EXIT

jobs_that() { # STATE
    curl -s --unix-socket "$CORGI_SOCKET" http://corgi/v1/summary | jq ".jobs.$1"
}

printf 'Partitions=main\nDefault=yes\nSharing=yes\n' > "$CORGI_SLURM_PLUGIN_CONF"
stock=$(dirname "$(find /usr/lib -name job_submit_all_partitions.so | head -n 1)")
NODES=13 GPUS=8 PINNED=1 EXTRA="JobSubmitPlugins=corgi
PluginDir=$(dirname "$bin")/lib:$stock" "$cluster" start "$lab"
export SLURM_CONF=$lab/etc/slurm.conf
cat > "$dir/c.yaml" << END
engine: slurm
planner: {gap: $gap}
state: $dir/state
listen: {socket: $CORGI_SOCKET}
slurm: {mode: control, partitions: [main], poll: 0.2s, within: 5s, sharing: true}
END
"$bin/corgid" --config "$dir/c.yaml" 2>> "$dir/log" &
pid=$!
for _ in $(seq 200); do
    ! curl -s -f -o /dev/null --unix-socket "$CORGI_SOCKET" http://corgi/readyz || break
    sleep 0.05
done
sleep 4 # slurmctld schedules first after 3 s
for time in $(seq "$times"); do
    "$bin/corgi" policy set paused=yes > /dev/null
    for _ in $(seq "$jobs"); do
        sbatch -o /dev/null --gres=gpu:1 --wrap "date +%s.%N >> $dir/began; sleep 20" > /dev/null 2>&1
    done
    while [ "$(jobs_that waiting)" -lt "$jobs" ]; do sleep 0.1; done
    sleep 1 # nothing else is under way
    : > "$dir/began"
    seen=$(wc -l < "$lab/log/slurmctld")
    since=$(date +%s.%N)
    "$bin/corgi" policy set paused=no > /dev/null
    until [ "$(wc -l < "$dir/began")" -ge "$jobs" ] || [ "$(date +%s)" -gt "$((${since%.*} + 60))" ]; do sleep 0.2; done
    first=$(sqlite3 "$dir/state/corgi.db" "select min(at_s) from decisions where what = 'start' and at_s > $since")
    tail -n "+$((seen + 1))" "$lab/log/slurmctld" | grep '_update_job' |
        sed -n 's/^\[\([^]]*\)\].* complete .*/\1/p' > "$dir/applied"
    last=$(date -d "$(tail -n 1 "$dir/applied")" +%s.%N)
    awk -v n="$(wc -l < "$dir/applied")" -v since="$since" -v first="$first" -v last="$last" \
        -v begun="$(sort -n "$dir/began" | tail -n 1)" -v ran="$(wc -l < "$dir/began")" -v time="$time" 'BEGIN {
        printf "%d: %d placements applied %.2f s after the first decision (%.0f a second), %.2f s after the word; " \
            "%d jobs had begun after %.2f s\n", time, n, last - first, n / (last - first), last - since, ran, begun - since }'
    while [ "$(jobs_that running)" != 0 ]; do sleep 0.5; done
done
