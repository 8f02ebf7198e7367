#!/usr/bin/env bats
# The daemon beside a helper or a Slurm that is in trouble: it answers, says that its engine
# is offline, and goes on when it can.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup() {
    advisor_folder "helper: $BATS_TEST_TMPDIR/helper"
    # The last known cluster: the daemon needs nobody to start.
    mkdir -p "$CORGID_DIR/state"
    cat > "$CORGID_DIR/state/slurm-cluster.json" << END
{"version": 1, "sleeps": true, "shared": true, "nodes": [
 {"name": "a", "gpus": ["v100-16", "v100-16"]}, {"name": "b", "gpus": ["k80"]}]}
END
}

teardown() {
    corgid_clean
    if [ -n "${LAB_STARTED:-}" ]; then slurm_stop; fi
}

# A helper made of a Python function: answer(request) returns what is written.
fake_helper() {
    cat > "$BATS_TEST_TMPDIR/helper" << END
#!/usr/bin/env python3
import json, sys, time, os
open("$CORGID_DIR/starts", "a").write("x")
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
def ok(request, **more):
    say(json.dumps(dict({"id": request["id"], "ok": True}, **more)) + "\n")
def hello(request, **more):
    ok(request, **dict({"version": 1, "read_only": True}, **more))
def empty(request):
    ok(request, conf={}, fresh=True, rows=[], gone=[], more=False)
$(cat)
for line in sys.stdin:
    answer(json.loads(line))
END
    chmod 755 "$BATS_TEST_TMPDIR/helper"
}

offline_because() { # PATTERN
    api GET /v1/summary | jq -r '.warnings[]' | grep -q "offline.*$1"
}

is_online() {
    [ "$(api GET /v1/summary | jq '.warnings | length')" = 0 ]
}

tried_again() {
    [ "$(wc -c < "$CORGID_DIR/starts")" -ge "$1" ]
}

@test "no helper at all: the daemon starts from the last known cluster and says so" {
    corgid_start
    within 50 offline_because 'does not start'
    [ "$(api GET /v1/devices | jq '.devices | length')" = 3 ]
    [ "$(api GET /v1/nodes | jq -r '[.nodes[].name] | join(",")')" = a,b ]
}

@test "a helper built for another release of Slurm: a sentence says what to do" {
    # shellcheck disable=SC2016 # the helper's own name
    printf '%s\n' '#!/bin/sh' 'echo "$0: error while loading shared libraries: libslurm.so.99: cannot open shared object file" >&2' \
        'exit 127' > "$BATS_TEST_TMPDIR/helper" # as the linker does
    chmod 755 "$BATS_TEST_TMPDIR/helper"
    corgid_start
    within 50 offline_because "run $BATS_TEST_TMPDIR/helper by hand.*built for this machine's release of Slurm"
    grep -q 'libslurm.so.99' "$CORGID_DIR/log"
}

@test "a node that is told twice is one node" {
    fake_helper << 'END'
twice = [{"name": name, "state": "idle", "gres": gres} for name, gres in
         (("a", "gpu:v100:2"), ("b", "gpu:k80:1"), ("a", "gpu:v100:2"), ("c", "gpu:v100:1"), ("c", "gpu:v100:4"))]
def answer(r):
    if r["op"] == "hello": hello(r)
    elif r["op"] == "nodes": ok(r, fresh=True, rows=twice, gone=[], more=False)
    else: empty(r)
END
    corgid_start
    three() { [ "$(api GET /v1/nodes | jq -r '[.nodes[].name] | join(",")')" = a,b,c ]; }
    within 50 three
    [ "$(api GET /v1/devices | jq '.devices | length')" = 4 ] # the first of the two counts
    within 50 grep -q 'c.*other GPUs than before' "$CORGID_DIR/log"
}

@test "a first start without Slurm ends with a sentence" {
    rm "$CORGID_DIR/state/slurm-cluster.json"
    sed -i 's/within: 3s/within: 1s/' "$CORGID_DIR/c.yaml"
    run -1 timeout 60 "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml"
    [[ "$output" == *"Slurm cannot be reached, and no cluster is known from before"* ]]
}

@test "a helper of another version, or one that could change something, is not spoken with" {
    fake_helper <<< 'def answer(r): hello(r, version=2)'
    corgid_start
    within 50 offline_because 'different releases'
    corgid_stop
    fake_helper <<< 'def answer(r): hello(r, read_only=False) if r["op"] == "hello" else empty(r)'
    corgid_start
    within 50 offline_because 'not started with --read-only'
}

@test "nonsense, cut lines, endless lines and answers nobody asked for end the line, not the daemon" {
    local answer
    for answer in 'say("nonsense\n")' 'say("{\"id\": 1, \"ok\"\n")' 'say("[" * 5000 + "\n")' \
        'ok({"id": 77})' 'say("\0\0\0\n")' 'say("x" * (40 << 20))' 'os._exit(3)' \
        '(say("{\"id\": "), os._exit(0))'; do
        : > "$CORGID_DIR/starts"
        fake_helper <<< "def answer(r): hello(r) if r['op'] == 'hello' else $answer"
        corgid_start
        within 100 tried_again 2
        offline_because .
        [ "$(api_status GET /v1/summary)" = 200 ]
        corgid_stop
    done
}

@test "a helper that hangs is killed and started again, and the daemon answers meanwhile" {
    sed -i 's/within: 3s/within: 0.5s/' "$CORGID_DIR/c.yaml"
    fake_helper <<< 'def answer(r): hello(r) if r["op"] == "hello" else time.sleep(100)'
    corgid_start
    for _ in $(seq 20); do
        [ "$(api_status GET /v1/summary '' --max-time 1)" = 200 ]
        sleep 0.05
    done
    within 100 offline_because 'not answered'
    within 100 tried_again 2
    fake_helper <<< 'def answer(r): hello(r) if r["op"] == "hello" else empty(r)'
    within 150 is_online
}

@test "a helper on a socket that takes nobody does not stop the daemon" {
    local pid
    # Its line is full: one more would wait until somebody is taken.
    python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(0)
waiting = socket.socket(socket.AF_UNIX)
waiting.connect(sys.argv[1])
open(sys.argv[1] + ".full", "w")
time.sleep(40)' "$CORGID_DIR/full" 3>&- &
    pid=$!
    within 50 test -e "$CORGID_DIR/full.full"
    sed -i "s|helper: [^}]*|helper: 'unix:$CORGID_DIR/full'|" "$CORGID_DIR/c.yaml"
    corgid_start
    within 50 offline_because "no helper listens at"
    for _ in $(seq 20); do
        [ "$(api_status GET /v1/summary '' --max-time 1)" = 200 ]
        sleep 0.05
    done
    kill "$pid"
}

@test "a GPU that slurmctld counts as used and no job has is not planned with, until it counts anew" {
    fake_helper << 'END'
used = {True: "gpu:v100:1(IDX:1)", False: "gpu:v100:0(IDX:N/A)"}
def rows(): # slurmctld counts anew when the file is there
    return [{"name": "a", "state": "idle", "gres": "gpu:v100:2",
             "gres_used": used[not os.path.exists("FREED")]},
            {"name": "b", "state": "idle", "gres": "gpu:k80:1"}]
def answer(r):
    if r["op"] == "hello": hello(r)
    elif r["op"] == "nodes": ok(r, fresh=True, rows=rows(), gone=[], more=False)
    else: empty(r)
END
    sed -i "s|FREED|$CORGID_DIR/freed|" "$BATS_TEST_TMPDIR/helper"
    corgid_start
    gpu() { api GET /v1/devices | jq -e ".devices[] | select(.name == \"a:1\") | $1" > /dev/null; }
    within 50 gpu '.state == "drained" and (.reason | test("scontrol reconfigure"))'
    run -0 "$CORGI_BIN/corgi" nodes -d --socket "$CORGID_SOCKET"
    [[ $output == *"a:1"*drained*"no job has it"* ]]
    touch "$CORGID_DIR/freed"
    within 100 gpu '.state == "free" and .reason == null'
}

@test "rows that make no sense are left out, and hurt nobody" {
    fake_helper << 'END'
odd = [None, 7, [], {}, {"id": 1}, {"id": "1" * 500, "state": "running", "user": "a", "submit_s": 1},
       {"id": "5", "state": "flying", "user": "a", "submit_s": 1, "tres_per_node": "gres:gpu:1"},
       {"id": "6", "state": "running", "user": "a", "submit_s": 5, "start_s": 6, "nodes": ["zz", None, "a"],
        "gres": ["gpu:1(IDX:0-999999999999)", 3, "gpu:2(IDX:1)"], "tres_per_node": "gres:gpu:999999999"},
       {"id": "7", "state": "running", "user": "a", "submit_s": 5, "start_s": 1e300, "nodes": ["a"] * 5000,
        "gres": ["gpu:1(IDX:0)"] * 5000, "tres_per_node": "gres:gpu:1", "name": "x" * 100000},
       {"id": "8", "state": "pending", "user": "a", "submit_s": 5, "tres_per_node": "gres:gpu:1", "name": "\n\u0001'\""},
       {"name": "a", "state": "idle", "gres": "gpu:v100:99999"}, {"name": "c,d", "state": "idle", "gres": "gpu:v100:1"}]
def answer(r):
    if r["op"] == "hello": hello(r)
    elif r["op"] == "conf": ok(r, conf={"PrivateData": 7, "SuspendTime": "x"})
    else: ok(r, fresh=True, rows=odd, gone=[None, 3, "9"], more=False)
END
    corgid_start
    within 50 is_online
    sleep 1
    [ "$(api_status GET '/v1/jobs?limit=100')" = 200 ]
    kill -0 "$CORGID_PID"
    api GET '/v1/jobs?limit=100' | jq -e '.jobs | length >= 1' > /dev/null
}

@test "ends that take Slurm long to make, and jobs it forgets, are told" {
    fake_helper << 'END'
states = ["timeout", "deadline", "node_fail", "boot_fail", "preempted", "out_of_memory"]
def job(number, **more):
    return dict({"id": str(number), "user": "root", "submit_s": 5, "start_s": 6, "nodes": ["a"],
                 "gres": ["gpu:1(IDX:0)"], "tres_per_node": "gres:gpu:1", "num_nodes": 1}, **more)
looks = 0
def answer(r):
    global looks
    if r["op"] == "hello": hello(r)
    elif r["op"] == "jobs":
        looks += 1
        rows = [job(1 + i, state=s, end_s=time.time()) for i, s in enumerate(states)]
        if looks == 1: rows = [job(99, state="running")]
        ok(r, fresh=True, rows=rows, gone=[], more=False)
    elif r["op"] == "nodes":
        ok(r, fresh=True, rows=[{"name": "a", "state": "idle", "gres": "gpu:v100:2"}], gone=[], more=False)
    else: empty(r)
END
    told() { # STATE, REASON of one of the jobs
        api GET '/v1/jobs?limit=100' | jq -e --arg state "$1" --arg reason "$2" \
            '[.jobs[] | select(.state == $state and (.reason // "" | startswith($reason)))] | length == 1' > /dev/null
    }
    corgid_start
    for end in "failed timeout" "failed deadline" "failed node_fail" "failed boot_fail" \
        "cancelled preempted" "failed out_of_memory"; do
        within 100 told "${end% *}" "Slurm says: ${end#* }"
    done
    within 300 told failed "Slurm does not know it any more: it ended while nobody looked"
}

@test "beside a real Slurm: answers cut, huge, late, of another version for a minute, and the record is right" {
    slurm_needed
    local jobs=0 end
    LAB_STARTED=1
    EXTRA="MinJobAge=600" slurm_start
    advisor_folder "helper: $BATS_TEST_TMPDIR/helper"
    sed -i 's/within: 3s/within: 2s/' "$CORGID_DIR/c.yaml"
    cat > "$BATS_TEST_TMPDIR/helper" << END
#!/bin/sh
exec python3 $BATS_TEST_DIRNAME/../support/harmed_helper.py --seed 3 --until $CORGID_DIR/healed $CORGI_BIN/corgi-engine-slurm "\$@"
END
    chmod 755 "$BATS_TEST_TMPDIR/helper"
    touch "$CORGID_DIR/healed"
    corgid_start
    within 50 is_online
    rm "$CORGID_DIR/healed"
    end=$((SECONDS + 60))
    while [ $SECONDS -lt $end ]; do
        batch $((1 + RANDOM % 3)) --gres=gpu:1 > /dev/null
        batch 1 --gres=shard:1 > /dev/null
        jobs=$((jobs + 2))
        [ "$(api_status GET /v1/summary '' --max-time 2)" = 200 ] # it answers throughout
        sleep 1
    done
    kill -0 "$CORGID_PID"
    touch "$CORGID_DIR/healed"
    within 600 queue_is_empty
    within 600 record_is_complete
    within 300 is_online
    grep -o . "$CORGID_DIR/healed.done" | sort | uniq -c | tr '\n' ' '
    [ "$(grep -o . "$CORGID_DIR/healed.done" | sort -u | wc -l)" -ge 5 ] # nearly every kind of harm
    : > "$SLURM_LAB/ran"
    record_is_right
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from jobs")" -ge "$jobs" ]
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select count(*) from jobs where reason like '%does not know%'")" = 0 ]
}

@test "a cluster that grows by four nodes and loses two is planned with at once" {
    slurm_needed
    LAB_STARTED=1
    NODES=4 slurm_start
    advisor_folder
    corgid_start
    [ "$(api GET /v1/nodes | jq '.nodes | length')" = 4 ]
    pid=$CORGID_PID
    "$SLURM_CLUSTER" grow "$SLURM_LAB" 4 3>&-
    eight() { [ "$(api GET /v1/nodes | jq '.nodes | length')" = 8 ]; }
    within 100 eight
    # jobs that only the new nodes can take are advised to go there, and do
    job=$(batch 3 -w node7 --gres=gpu:2)
    within 100 runs "$job"
    on_seven() { api GET '/v1/jobs' | jq -e '[.jobs[].devices[]?.node] | index("node7")' > /dev/null; }
    within 50 on_seven
    [ "$(api GET /v1/nodes/node7 | jq -r .state)" = awake ]
    "$SLURM_CLUSTER" lose "$SLURM_LAB" 2 3>&-
    gone() { [ "$(api GET /v1/nodes | jq '[.nodes[] | select(.state == "down")] | length')" = 2 ]; }
    within 100 gone
    [ "$(api GET /v1/nodes/node8 | jq -r .state)" = down ]
    [ "$pid" = "$CORGID_PID" ] && kill -0 "$CORGID_PID"
    # and a restart knows the cluster as it is
    corgid_stop
    corgid_start
    within 50 gone
}

@test "slurmctld, helper and corgid killed at random: every job once, with the right end" {
    slurm_needed
    run -0 "$BATS_TEST_DIRNAME/../chaos/slurm_kills" --minutes 0.25 --seed 5 --bin "$CORGI_BIN"
    echo "$output"
}
