#!/usr/bin/env bats
# What was learned outlives the daemon: estimates before and after a stop, and after a kill.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {clock: stepped, start: 1000000}/' "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

advance() { api POST /v1/sim/advance "{\"to_s\": $1}" > /dev/null; }

# Described jobs and jobs of which only the name is known, services too.
submit_jobs() {
    local i
    for i in $(seq 1 16); do
        api POST /v1/jobs "{\"name\": \"job$i\", \"total_steps\": 1e9,
            \"descriptor\": {\"family\": \"synthetic-$((i % 5))\", \"batch\": $((8 * i))}}" \
            > /dev/null
    done
    for i in $(seq 1 8); do
        api POST /v1/jobs "{\"name\": \"train$i.sh\", \"total_steps\": 1e9}" > /dev/null
    done
}

estimates() { api GET '/v1/estimates?limit=1000' > "$CORGID_DIR/$1"; }

# The median and the 90th percentile of |log ratio| over all cells.
compare() { # BEFORE AFTER MEDIAN P90
    python3 - "$CORGID_DIR/$1" "$CORGID_DIR/$2" "$3" "$4" << 'END'
import json, math, sys
def cells(path):
    return {(c["job"], c["type"], str([n["job"] for n in c["beside"]])): c
            for c in json.load(open(path))["cells"]}
a, b = cells(sys.argv[1]), cells(sys.argv[2])
assert len(a) > 80, len(a)
both = a.keys() & b.keys()
assert len(both) > 0.9 * len(a), (len(both), len(a))
off = sorted(abs(math.log(a[k]["rate"]["value"] / b[k]["rate"]["value"])) for k in both)
median, p90 = off[len(off) // 2], off[len(off) * 9 // 10]
measured = sum(a[k]["rate"]["source"] == "measured" for k in both)
kept = sum(a[k]["rate"]["source"] == b[k]["rate"]["source"] for k in both)
print(f"cells {len(both)} measured {measured} same source {kept} "
      f"median {median:.6f} p90 {p90:.6f}")
assert measured > 10 and kept > 0.95 * len(both)
assert median < float(sys.argv[3]) and p90 < float(sys.argv[4])
END
}

@test "a stop and a start change no belief" {
    corgid_start
    submit_jobs
    advance 1007200
    estimates before
    corgid_stop
    corgid_start
    estimates after
    grep -q learned_recalled "$CORGID_DIR/log"
    compare before after 0.001 0.001
}

@test "a daemon that was killed has what was measured since its checkpoint" {
    printf 'planner: {checkpoint: 1s}\n' >> "$CORGID_DIR/c.yaml"
    corgid_start
    submit_jobs
    advance 1007200
    sleep 2.5 # the checkpoint is on the wall's clock
    sed -i 's/checkpoint: 1s/checkpoint: 1h/' "$CORGID_DIR/c.yaml"
    kill -HUP "$CORGID_PID"
    sleep 0.5
    advance 1007500
    estimates before
    corgid_kill
    corgid_start
    estimates after
    grep windows_replayed "$CORGID_DIR/log"
    compare before after 0.01 0.1
}

@test "a checkpoint of another cluster is refused with a word, and the daemon starts" {
    corgid_start
    submit_jobs
    advance 1000600
    corgid_stop
    sed -i 's/^sim:.*/sim: {clock: stepped, start: 1000000, cluster: modern}/' "$CORGID_DIR/c.yaml"
    corgid_start
    grep -q learned_lost "$CORGID_DIR/log"
    estimates after
}
