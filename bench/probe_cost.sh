#!/usr/bin/env bash
# probe_cost.sh - what corgi-probe costs, in percent of a core
#
# Usage: bench/probe_cost.sh BIN_DIR [SECONDS]
#
# Runs it over a job that prints 1,000 lines a second, one that prints a bar with carriage
# returns, and one that is idle, and reads the processor time the kernel booked for it.
set -euo pipefail
bin=$1
seconds=${2:-20}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/lines.py" << 'PY'
import sys, time
form = sys.argv[1]
start = time.monotonic()
n = 0
while time.monotonic() - start < float(sys.argv[2]):
    while n < (time.monotonic() - start) * 1000:
        n += 1
        sys.stdout.write(form % {"n": n, "loss": 2.0 - n * 1e-6})
        sys.stdout.flush()
    time.sleep(0.0005)
PY

measure() { # name, command...
    local name=$1 pid ticks
    shift
    "$bin/corgi-probe" --job 1 --dir "$dir/job" --report "unix:$dir/away" -- "$@" \
        > "$dir/output" &
    pid=$!
    sleep "$seconds"
    ticks=$(cut -d' ' -f14,15 "/proc/$pid/stat" | tr ' ' '+')
    wait "$pid"
    awk -v t="$((ticks))" -v hz="$(getconf CLK_TCK)" -v s="$seconds" -v name="$name" \
        'BEGIN { printf "%-22s %.2f %% of a core\n", name, 100 * t / hz / s }'
}

longer=$((seconds + 1))
measure "1000 lines/s" python3 "$dir/lines.py" 'epoch 1 step %(n)d/1000000 loss %(loss).4f lr 1.0e-4 gnorm 0.9 mem 3.1GiB
' "$longer"
measure "1000 bars/s" python3 "$dir/lines.py" $'\r 45%%|####5     | %(n)d/1000000 [00:30<00:37, 1000.0it/s, loss=%(loss).3f]' "$longer"
measure "idle" sleep "$longer"
