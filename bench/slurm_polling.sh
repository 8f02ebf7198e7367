#!/bin/bash
# slurm_polling.sh - what watching a Slurm of many nodes and jobs costs
#
#   bench/slurm_polling.sh [--nodes 64] [--jobs 2000] [--seconds 60] [--bin DIR]
#
# A real Slurm on this machine gets an array of jobs on GPUs; when the daemon has found them
# all, processor time of corgid and of its helper is read over some time in which jobs come
# and go.  Prints the share of one core of each, with the daemon's settings as they are, and how
# long rounds of planning took by the clock; then, over as much time again, the processor time
# that rounds took of the planning thread, which is what `corgi bench plan` measures.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nodes=64 jobs=2000 seconds=60 bin=$here/../build/release/bin
while [ $# -gt 0 ]; do
    case $1 in
    --nodes) nodes=$2 ;;
    --jobs) jobs=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;;
    *) echo "slurm_polling.sh: unknown option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
bin=$(realpath "$bin")
cluster=$here/../tests/support/slurm_cluster
dir=$(mktemp -d /tmp/slurm-polling.XXXXXX)
chmod 755 "$dir"
pid=''

# shellcheck disable=SC2317 # a trap
clean() {
    [ -z "$pid" ] || kill "$pid" 2> /dev/null || true
    wait 2> /dev/null || true
    "$cluster" stop "$dir/lab" || true
    rm -rf "$dir"
}
trap clean EXIT

ask() { # PATH
    curl -s -f --max-time 10 --unix-socket "$dir/s" "http://corgi$1"
}

ticks() { # PID: user and system time
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}

NODES=$nodes GPUS=4 EXTRA="MaxArraySize=100000" "$cluster" start "$dir/lab"
export SLURM_CONF=$dir/lab/etc/slurm.conf
cat > "$dir/c.yaml" << END
engine: slurm
state: $dir/state
listen: {socket: $dir/s}
slurm: {mode: advise}
END
sbatch --parsable -o /dev/null --gres=gpu:1 --array="1-$jobs" --wrap "sleep \$((20 + RANDOM % 40))" > /dev/null
"$bin/corgid" --config "$dir/c.yaml" 2> "$dir/log" &
pid=$!
for _ in $(seq 600); do
    found=$(ask /v1/summary 2> /dev/null | jq '.jobs.waiting + .jobs.running + .jobs.done' 2> /dev/null || echo 0)
    [ "${found:-0}" -lt "$jobs" ] || break
    sleep 0.5
done
sleep 10 # the first rounds have been planned
helper=$(pgrep -P "$pid" -f corgi-engine-slurm)
done_before=$(ask /v1/summary | jq .jobs.done)
before=$(ticks "$pid") helper_before=$(ticks "$helper")
sleep "$seconds"
after=$(ticks "$pid") helper_after=$(ticks "$helper")
done_after=$(ask /v1/summary | jq .jobs.done)
awk -v d=$((after - before)) -v h=$((helper_after - helper_before)) -v s="$seconds" -v hz="$(getconf CLK_TCK)" \
    -v n="$nodes" -v j="$found" -v e=$((done_after - done_before)) 'BEGIN {
    printf "%d nodes, %d jobs, %d ended in %d s: corgid %.2f %%, helper %.2f %% of a core\n",
        n, j, e, s, 100 * d / hz / s, 100 * h / hz / s }'
ask /metrics | awk '/^corgi_decision_duration_seconds/ {
    split($1, word, "\"")
    if ($1 ~ /_bucket/) { bound[++n] = word[2]; below[n] = $2 }
    if ($1 ~ /_sum/) sum = $2
    if ($1 ~ /_count/) count = $2
} END {
    for (i = 1; i < n && below[i] < 0.99 * count; i++) {}
    if (count) printf "%d rounds: mean %.1f ms, 99 %% of them within %s s\n", count, 1000 * sum / count, bound[i]
}'

planning() { # nanoseconds the planning thread has run
    local task
    for task in /proc/"$pid"/task/*; do
        [ "$(cat "$task/comm")" != planning ] || awk '{ print $1 }' "$task/schedstat"
    done
}

rounds() {
    ask /metrics | awk '/^corgi_decision_duration_seconds_count/ { print $2 }'
}

end=$((SECONDS + seconds)) count=$(rounds) ran=$(planning)
while [ $SECONDS -lt $end ]; do
    sleep 0.5
    now=$(rounds) ns=$(planning)
    [ "$now" = "$count" ] || awk -v ns=$((ns - ran)) -v n=$((now - count)) 'BEGIN { for (i = 0; i < n; i++) print ns / n / 1e6 }'
    [ "$now" = "$count" ] || count=$now ran=$ns
done | sort -g | awk '{ ms[NR] = $1 } END {
    if (NR) printf "%d rounds took of a processor: median %.1f ms, 99 %% %.1f ms, longest %.1f ms\n",
        NR, ms[int((NR + 1) / 2)], ms[int(0.99 * NR + 0.999)], ms[NR] }'
