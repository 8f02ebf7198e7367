#!/usr/bin/env bash
# sim_scale.sh - how the time of a simulation grows with its size
#
# Usage: bench/sim_scale.sh [POLICY] [CORGI]
#
# Runs `corgi sim` at growing sizes up to 10,000 requests on 1,000 GPUs and prints seconds,
# growth from the size before (2.0 is twice the time for twice the size), and the time of
# one decision.  The goal is under 20 s for the largest under fifo in a release build; the
# exit status is 1 when fifo misses it.
set -euo pipefail

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
policy=${1:-fifo}
corgi=${2:-$root/build/release/bin/corgi}
goal_s=20

[[ -x $corgi ]] || {
    echo "sim_scale: $corgi is missing, build it with 'cmake --workflow --preset release'" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# A cluster of so many GPUs, four a node, of five generations.
write_cluster() { # gpus
    local each=$(($1 / 20)) gpu
    echo "nodes:"
    for gpu in k80 p100 v100 t4 a100; do
        echo "  - {gpu: $gpu, gpus: 4, count: $each}"
    done
}

# Long enough that arrivals end by the limit, not by the calendar.
simulate() { # gpus requests
    write_cluster "$1" > "$work/cluster.yaml"
    "$corgi" sim --cluster "$work/cluster.yaml" --workload standard --policy "$policy" \
        --days 365 --limit "$2" --load 80 --seeds 1 --threads 1 --timings --json > "$work/sim.json"
}

printf '%8s %9s %9s %9s %8s %12s\n' GPUs requests finished seconds growth 'p99 ms'
before=
for size in 100 200 400 600 1000; do
    begin=$(date +%s.%N)
    simulate "$size" $((size * 10))
    seconds=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }')
    read -r finished p99 < <(jq -r '.rows[0] | "\(.finished) \(.decision_ms_p99)"' "$work/sim.json")
    growth=-
    [[ -z $before ]] || growth=$(awk -v s="$seconds" -v b="$before" 'BEGIN { printf "%.2f", s / b }')
    printf '%8d %9d %9d %9.2f %8s %12.3f\n' "$size" $((size * 10)) "$finished" "$seconds" \
        "$growth" "$p99"
    before=$seconds
done

if [[ $policy == fifo ]] && awk -v s="$seconds" -v g="$goal_s" 'BEGIN { exit s < g }'; then
    echo "sim_scale: $seconds s for 10,000 requests on 1,000 GPUs, the goal is $goal_s s" >&2
    exit 1
fi
