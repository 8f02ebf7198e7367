#!/usr/bin/env bash
# saved_energy.sh CORGI [FIRST_SEED [SEEDS]] - is SAVED what was saved?
#
# 200 random jobs in a simulated day, a seed a line: SAVED with its interval as Corgi tells
# it, against what a replay of the same requests under the reference policy uses on
# devices with jobs, less what Corgi used there.  Ends with 1 when fewer than nine of ten
# lie within.
set -euo pipefail
corgi=$1 first=${2:-1} seeds=${3:-20}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for ((seed = first; seed < first + seeds; seed++)); do
    "$corgi" sim --workload standard --load 120 --days 1 --limit 200 --seed "$seed" \
        --seeds 1 --policy corgi,fastest --out "$dir/$seed" > /dev/null 2>&1
done
python3 - "$dir" "$first" "$seeds" << 'PYTHON'
import json, sys
folder, first, seeds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
inside, widths = 0, []
print("seed  jobs  used kWh  SAVED kWh    ±kWh  replay less used   off/±")
for seed in range(first, first + seeds):
    rows = {r["policy"]: r for r in json.load(open(f"{folder}/{seed}/sim.json"))["rows"]}
    corgi, usual = rows["corgi"], rows["fastest"]
    really = usual["device_kwh"] - corgi["device_kwh"]
    saved, error = corgi["saved_kwh"], corgi["saved_kwh_error"]
    inside += abs(saved - really) <= error
    widths.append(error / abs(really))
    print(f'{seed:4} {corgi["jobs"]:5} {corgi["device_kwh"]:9.1f} {saved:10.1f} {error:7.1f}'
          f' {really:17.1f} {(saved - really) / error:7.2f}')
widths.sort()
print(f"{inside} of {seeds} within; half the interval is {100 * widths[len(widths) // 2]:.0f} %"
      " of what was really saved (median)")
sys.exit(inside * 10 < seeds * 9)
PYTHON
