#!/usr/bin/env bats
# corgi-engine-slurm against a real Slurm: what it tells, what it refuses, and that it
# answers when Slurm does not.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    CORGID_DIR=
}

teardown() {
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

# ask FILE-OF-REQUESTS [SECONDS [OPTION...]]: the answers, one a line, in the order of ids
ask() {
    local requests=$1 seconds=${2:-1}
    shift
    [ $# -eq 0 ] || shift
    { cat "$requests" && sleep "$seconds"; } |
        timeout 20 "$CORGI_BIN/corgi-engine-slurm" --read-only "$@" | jq -c -S . | sort
}

nodes_are_idle() {
    [ "$(sinfo -h -N -o %t | sort -u)" = idle ]
}

requests() { # OP...
    local op id=0
    for op in "$@"; do
        id=$((id + 1))
        printf '{"id":%d,"op":"%s","version":1,"within_s":0.5}\n' "$id" "$op"
    done > "$BATS_TEST_TMPDIR/requests"
    echo "$BATS_TEST_TMPDIR/requests"
}

@test "it tells what Slurm has: settings, nodes with their GPUs, partitions, jobs" {
    local gang array answers
    gang=$(batch 20 -N2 --gpus-per-node=1)
    array=$(batch 20 --gres=shard:1 --array=3-4,7)
    within 100 runs "$gang"
    answers=$(ask "$(requests hello conf nodes partitions reservations jobs)")
    grep '"id":1,' <<< "$answers" | jq -e '.ok and .version == 1 and .read_only' > /dev/null
    grep '"id":2,' <<< "$answers" | jq -e '.conf.ClusterName == "lab" and .conf.MinJobAge == 300' > /dev/null
    grep '"id":3,' <<< "$answers" | jq -e '[.rows[].gres] == ["gpu:v100:2,shard:v100:4",
        "gpu:p100:2,shard:p100:4", "gpu:k80:2,shard:k80:4", "gpu:a100:2,shard:a100:4"]' > /dev/null
    grep '"id":4,' <<< "$answers" | jq -e '.rows[0].name == "main" and .rows[0].nodes == "node[1-4]"' > /dev/null
    grep '"id":5,' <<< "$answers" | jq -e '.ok and .rows == []' > /dev/null
    grep '"id":6,' <<< "$answers" | jq -e --arg gang "$gang" '.rows[] | select(.id == $gang) |
        .state == "running" and (.nodes | length) == 2 and (.gres | all(test("IDX:")))' > /dev/null
    # elements of an array are jobs of their own, also while Slurm keeps them in one record
    [ "$(grep '"id":6,' <<< "$answers" | jq -c '[.rows[].id] | sort')" = \
        "$(jq -nc --arg a "$array" --arg g "$gang" '[$g, $a + "_3", $a + "_4", $a + "_7"] | sort')" ]
    scancel "$gang" "$array"
}

@test "a second look tells only what has changed, and what is gone" {
    within 200 queue_is_empty # nodes that become idle would be news
    within 200 nodes_are_idle
    mkfifo "$BATS_TEST_TMPDIR/in"
    timeout 20 "$CORGI_BIN/corgi-engine-slurm" --read-only < "$BATS_TEST_TMPDIR/in" \
        > "$BATS_TEST_TMPDIR/out" 3>&- &
    exec 4> "$BATS_TEST_TMPDIR/in"
    echo '{"id":1,"op":"nodes"}' >&4
    within 50 grep -q '"id":1,' "$BATS_TEST_TMPDIR/out"
    [ "$(grep '"id":1,' "$BATS_TEST_TMPDIR/out" | jq -c '[.fresh, (.rows | length)]')" = '[true,4]' ]
    scontrol update nodename=node3 state=drain reason=broken
    echo '{"id":2,"op":"nodes"}' >&4
    within 50 grep -q '"id":2,' "$BATS_TEST_TMPDIR/out"
    [ "$(grep '"id":2,' "$BATS_TEST_TMPDIR/out" | jq -c '[.fresh, (.rows[] | .name, .flags, .reason)]')" = \
        '[false,"node3",["drain"],"broken"]' ]
    scontrol update nodename=node3 state=resume
    # many jobs come in several answers
    for _ in 1 2 3; do batch 60 --hold --gres=gpu:1 > /dev/null; done
    echo '{"id":3,"op":"jobs","most":2}' >&4
    within 50 grep -q '"id":3,' "$BATS_TEST_TMPDIR/out"
    [ "$(grep '"id":3,' "$BATS_TEST_TMPDIR/out" | jq -c '[.more, (.rows | length)]')" = '[true,2]' ]
    exec 4>&-
    wait
    scancel --state=PENDING
}

@test "read-only refuses every request that would change something, and runs nothing" {
    local answers op before after
    before=$(squeue -h -t all -o "%i %T %N %Q" | md5sum)
    answers=$(ask "$(requests submit update_job update_node requeue signal cancel)")
    after=$(squeue -h -t all -o "%i %T %N %Q" | md5sum)
    [ "$(jq -r .code <<< "$answers" | sort -u)" = read_only ]
    [ "$(wc -l <<< "$answers")" -eq 6 ]
    [ "$before" = "$after" ]
    # every name of the table that modifies was asked for above
    op=$(grep -o '\.op = "[a-z_]*", \.modifies' "$BATS_TEST_DIRNAME/../../src/corgi-engine-slurm/helper_requests.c" | wc -l)
    [ "$op" -eq 6 ]
}

@test "nonsense gets a sentence and the next request its answer" {
    local answers
    printf '%s\n' '{"id":1,"op":"hello","version":99}' 'not json' '[1,2]' '{"op":"jobs"}' \
        '{"id":4,"op":"jobs","within_s":"soon","most":-5}' '{"id":5,"op":"nodes"}' \
        > "$BATS_TEST_TMPDIR/requests"
    answers=$(ask "$BATS_TEST_TMPDIR/requests")
    grep '"id":1,' <<< "$answers" | jq -e '(.ok | not) and .code == "version"' > /dev/null
    [ "$(grep -c '"code":"request"' <<< "$answers")" -eq 3 ]
    grep '"id":4,' <<< "$answers" | jq -e .ok > /dev/null
    grep '"id":5,' <<< "$answers" | jq -e '.ok and (.rows | length) == 4' > /dev/null
}

@test "a slurmctld that does not answer makes a late answer, not a helper that hangs" {
    local answers began
    kill -STOP "$(cat "$SLURM_LAB/run/slurmctld.pid")"
    began=$SECONDS
    answers=$(ask "$(requests nodes jobs hello)" 2)
    kill -CONT "$(cat "$SLURM_LAB/run/slurmctld.pid")"
    [ $((SECONDS - began)) -le 6 ]
    [ "$(grep -c '"code":"late"' <<< "$answers")" -eq 2 ]
    grep '"id":3,' <<< "$answers" | jq -e .ok > /dev/null
}

@test "on a socket it speaks with root and its own user alone" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
    local socket=$SLURM_LAB/helper.sock pid
    "$CORGI_BIN/corgi-engine-slurm" --read-only --socket "$socket" 2> "$BATS_TEST_TMPDIR/log" 3>&- &
    pid=$!
    within 50 test -S "$socket"
    cat > "$BATS_TEST_TMPDIR/ask.py" << 'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
try:
    s.sendall(b'{"id":1,"op":"hello","version":1}\n')
    print(len(s.recv(4096)) > 0)
except OSError:
    print(False)
END
    [ "$(python3 "$BATS_TEST_TMPDIR/ask.py" "$socket")" = True ]
    chmod 666 "$socket"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2> /dev/null || true
    [ "$(setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 - "$socket" < "$BATS_TEST_TMPDIR/ask.py")" = False ]
    kill "$pid"
    wait "$pid" || true
    grep -q client_refused "$BATS_TEST_TMPDIR/log"
}

@test "the unit's helper, as a user of its own, serves a daemon of the user it allows" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
    local pid job program words unit=$BATS_TEST_TMPDIR/unit
    sed "s|@CORGI_BIN@|$CORGI_BIN|; s|^User=slurm|User=daemon|" "$BATS_TEST_DIRNAME/../../packaging/corgi-engine-slurm.service.in" > "$unit"
    read -r program words <<< "$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|/run/corgi-slurm/|$SLURM_LAB/run/|; s|--allow corgi|--allow games|")"
    [[ "$program" = "$CORGI_BIN/corgi-engine-slurm" && "$words" == "--read-only --socket "*" --allow games" ]]
    local sandbox=(python3 "$BATS_TEST_DIRNAME/../support/sandbox.py" "$unit")
    "${sandbox[@]}" true || sandbox=(setpriv --reuid=daemon --regid=daemon --clear-groups)
    chmod 1777 "$SLURM_LAB/run"
    # shellcheck disable=SC2086 # words
    "${sandbox[@]}" "$program" $words 2> "$BATS_TEST_TMPDIR/log" 3>&- &
    pid=$!
    within 100 test -S "$SLURM_LAB/run/helper"
    advisor_folder "helper: 'unix:$SLURM_LAB/run/helper'"
    chmod 777 "$CORGID_DIR"
    setpriv --reuid=games --regid=games --clear-groups "$CORGI_BIN/corgid" --config "$CORGID_DIR/c.yaml" 2>> "$CORGID_DIR/log" 3>&- &
    # shellcheck disable=SC2034 # corgid_clean ends it
    CORGID_PID=$!
    within 100 test -S "$CORGID_SOCKET"
    job=$(batch 1 --gres=gpu:1)
    known() { sqlite3 "$CORGID_DIR/state/corgi.db" "select id from jobs where key = 'found:$job'" | grep -q .; }
    within 100 known
    [ "$(api GET /v1/summary | jq '.warnings | length')" = 0 ]
    # nobody else is heard, and is told why
    run -1 setpriv --reuid=65534 --regid=65534 --clear-groups "$CORGI_BIN/corgi" slurm check --helper "unix:$SLURM_LAB/run/helper"
    [[ "$output" == *"hangs up: it speaks with root, with its own user and with whom its --allow names"* ]]
    kill "$pid"
    wait "$pid" || true
    run -1 "$CORGI_BIN/corgi-engine-slurm" --socket "$BATS_TEST_TMPDIR/s" --allow nobody-of-that-name
    [[ "$output" == *"--allow: there is no user 'nobody-of-that-name'"* ]]
    run -2 "$CORGI_BIN/corgi-engine-slurm" --allow games
}
