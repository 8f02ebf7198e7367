#!/usr/bin/env bash
# sim_scale.sh - how the time of a simulation grows with its size
#
# Usage: bench/sim_scale.sh [--large] [--sizes "GPUS..."] [POLICY] [CORGI]
#
# Runs `corgi sim` at growing sizes up to 10,000 requests on 1,000 GPUs and prints seconds of
# processor time, growth from the size before (2.0 is twice the time for twice the size) and
# what n log n would have grown, ms a request, the time of one decision and the memory.  The
# goal is under 20 s for the largest under fifo in a release build.
#
# --large plays as many requests as GPUs, 1,000 to 100,000 of both, on nodes of eight under
# corgi: the time is to grow no faster than n log n.  The exit status is 1 when a goal is missed.
set -euo pipefail

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
policy=fifo sizes="100 200 400 600 1000" each_gpu=10 node=4 large=false
goal_s=20

while [[ ${1-} == --* ]]; do
    case $1 in
        --large) large=true policy=corgi sizes="1000 10000 100000" each_gpu=1 node=8 ;;
        --sizes) sizes=${2:?"--sizes needs a list"} && shift ;;
        *) echo "sim_scale: there is no $1" >&2 && exit 2 ;;
    esac
    shift
done
policy=${1:-$policy}
corgi=${2:-$root/build/release/bin/corgi}

[[ -x $corgi ]] || {
    echo "sim_scale: $corgi is missing, build it with 'cmake --workflow --preset release'" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# A cluster of so many GPUs of five generations.
write_cluster() { # gpus
    local each=$(($1 / 5 / node)) gpu
    echo "nodes:"
    for gpu in k80 p100 v100 t4 a100; do
        echo "  - {gpu: $gpu, gpus: $node, count: $each}"
    done
}

# Long enough that arrivals end by the limit, not by the calendar.  Prints seconds and MB.
simulate() { # gpus requests
    write_cluster "$1" > "$work/cluster.yaml"
    python3 - "$work/sim.json" "$corgi" sim --cluster "$work/cluster.yaml" --workload standard \
        --policy "$policy" --days 365 --limit "$2" --load 80 --seeds 1 --threads 1 --timings --json << 'PYTHON'
import resource, subprocess, sys
with open(sys.argv[1], "w") as out:
    subprocess.run(sys.argv[2:], stdout=out, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f %d" % (used.ru_utime + used.ru_stime, used.ru_maxrss // 1024))
PYTHON
}

slow=0
printf '%8s %9s %9s %10s %8s %8s %11s %9s %7s\n' GPUs requests finished seconds growth 'n log n' \
    'ms/request' 'p99 ms' MB
before='' size_before=''
for size in $sizes; do
    requests=$((size * each_gpu))
    read -r seconds memory < <(simulate "$size" "$requests")
    read -r finished p99 < <(jq -r '.rows[0] | "\(.finished) \(.decision_ms_p99)"' "$work/sim.json")
    growth=- nlogn=-
    if [[ -n $before ]]; then
        growth=$(awk -v s="$seconds" -v b="$before" 'BEGIN { printf "%.2f", s / b }')
        nlogn=$(awk -v n="$requests" -v b="$size_before" 'BEGIN { printf "%.2f", n * log(n) / (b * log(b)) }')
        awk -v g="$growth" -v n="$nlogn" 'BEGIN { exit g > n }' || slow=1
    fi
    printf '%8d %9d %9d %10.2f %8s %8s %11.2f %9.3f %7d\n' "$size" "$requests" "$finished" "$seconds" \
        "$growth" "$nlogn" "$(awk -v s="$seconds" -v n="$requests" 'BEGIN { print 1000 * s / n }')" "$p99" "$memory"
    before=$seconds size_before=$requests
done

if $large && ((slow)); then
    echo "sim_scale: the time grows faster than n log n" >&2
    exit 1
fi
if ! $large && [[ $policy == fifo ]] && awk -v s="$seconds" -v g="$goal_s" 'BEGIN { exit s < g }'; then
    echo "sim_scale: $seconds s for $requests requests on $size GPUs, the goal is $goal_s s" >&2
    exit 1
fi
