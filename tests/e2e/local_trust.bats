#!/usr/bin/env bats
# What a job, or another user of the machine, can do to a probe and through it: nothing.
#
# Each test is a process of its own.
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    write_config "$dir"
    start_daemon "$dir"
}

teardown() {
    stop_daemon "$dir" || true
    [ -z "${stranger:-}" ] || kill -9 "$stranger" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

submit() { # COMMAND [MORE]
    submit_job "$dir" job "${2:-}" "$1" | jq .job.id
}

folder() { # JOB
    echo "$dir/state/engine/jobs/$1/attempt-1"
}

probe_of() { # JOB
    sed 's/^probe=\([0-9]*\) .*/\1/' "$(folder "$1")/pid"
}

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root: another user's processes"
}

# A process of another user with the name and the marks of an attempt's probe.
pretend() { # JOB
    setpriv --reuid=nobody --regid=nogroup --clear-groups \
        env CORGI_ENGINE="$dir/state/engine" CORGI_JOB_ID="$1" CORGI_ATTEMPT=1 python3 -c '
import ctypes, time
ctypes.CDLL(None).prctl(15, b"corgi-probe", 0, 0, 0)
time.sleep(120)' 3>&- &
    stranger=$!
    for _ in $(seq 100); do
        [ "$(cat "/proc/$stranger/comm" 2> /dev/null)" = corgi-probe ] && return 0
        sleep 0.1
    done
    return 1
}

@test "a job that ended while nobody looked is not brought back by a pretender" {
    need_root
    id=$(submit "sleep 2")
    await_state "$dir" "$id" running 30
    await_file "$(folder "$id")/pid" 10
    stop_daemon "$dir" KILL
    await_file "$(folder "$id")/status" 20
    pretend "$id"
    start_daemon "$dir"
    await_state "$dir" "$id" "done" 10
}

@test "a pretender is not taken for the probe of a job that was lost" {
    need_root
    id=$(submit "exec sleep 600" '"move":false')
    await_file "$(folder "$id")/pid" 30
    stop_daemon "$dir" KILL
    kill -9 "$(probe_of "$id")"
    pretend "$id"
    start_daemon "$dir"
    for _ in $(seq 150); do
        [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .attempt)" = 2 ] && break
        sleep 0.2
    done
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .attempt)" = 2 ]
    daemon_post "$dir" "/v1/jobs/$id/cancel"
}

@test "a job's libraries and variables do not reach its probe, and reach the job" {
    cat > "$dir/lib.c" << 'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void here(void)
{
    char name[32] = "";
    FILE *f = fopen("/proc/self/comm", "r");

    if (f && fgets(name, sizeof(name), f) && getenv("SPY") && (f = fopen(getenv("SPY"), "a"))) {
        fputs(name, f);
        fclose(f);
    }
}
C
    cc -shared -fPIC -o "$dir/lib.so" "$dir/lib.c"
    more="\"environment\":{\"LD_PRELOAD\":\"$dir/lib.so\",\"SPY\":\"$dir/spy\",
        \"GCONV_PATH\":\"$dir\",\"OPENSSL_CONF\":\"$dir/no\",\"PATH\":\"/usr/bin:/bin:$dir\"}"
    id=$(submit "env > $dir/env; exec sleep 600" "$more")
    await_file "$dir/env" 30
    await_file "$(folder "$id")/pid" 10
    sort -u "$dir/spy"
    grep -qx sh "$dir/spy"
    run ! grep -qx corgi-probe "$dir/spy"
    grep -qx "PATH=/usr/bin:/bin:$dir" "$dir/env"
    grep -qx "GCONV_PATH=$dir" "$dir/env"
    grep -q "^CORGI_HEARTBEAT=" "$dir/env"
    # Nor is what the probe proves itself by in the job's environment.
    run ! grep -q "$(< "$(folder "$id")/key")" "$dir/env"
    tr '\0' '\n' < "/proc/$(probe_of "$id")/environ" > "$dir/probe_env"
    run ! grep -E '^(LD_|GCONV|OPENSSL|SPY)' "$dir/probe_env"
    [ "$(stat -c %a "$(folder "$id")/key")" = 600 ]
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 20
}

@test "what a probe may use is bounded" {
    need_root
    id=$(submit "exec sleep 600")
    await_state "$dir" "$id" running 30
    await_file "$(folder "$id")/pid" 10
    probe=$(probe_of "$id")
    for _ in $(seq 50); do
        grep -q aside "/proc/$probe/cgroup" && break
        sleep 0.1
    done
    grep -q aside "/proc/$probe/cgroup" || skip "no cgroups here"
    group=$(sed -n 's/^[0-9]*:\(cpu\|cpu,cpuacct\):\(.*\)/\2/p' "/proc/$probe/cgroup")
    if [ -n "$group" ]; then
        quota=$(cat /sys/fs/cgroup/cpu"$group"/cpu.cfs_quota_us)
        period=$(cat /sys/fs/cgroup/cpu"$group"/cpu.cfs_period_us)
    else
        read -r quota period < "/sys/fs/cgroup$(sed -n 's/^0::\(.*\)/\1/p' "/proc/$probe/cgroup")/cpu.max"
    fi
    [ "$quota" -gt 0 ]
    [ "$quota" -le "$period" ]
    pids=$(sed -n 's/^[0-9]*:pids:\(.*\)/\1/p' "/proc/$probe/cgroup")
    if [ -n "$pids" ]; then
        [[ $pids == */aside/* ]]
        [ "$(cat "/sys/fs/cgroup/pids$pids/pids.max")" -le 64 ]
    fi
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 20
    await_gone "$probe" 10
    # Its group goes with it.
    [ -z "$group" ] || [ ! -e "/sys/fs/cgroup/cpu$group" ]
}

# send COUNT SOCKET...: that many datagrams of nonsense to each, and how it went
send() {
    python3 - "$@" << 'PY'
import socket, sys
sent = refused = 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
for path in sys.argv[2:]:
    for _ in range(int(sys.argv[1])):
        try:
            s.sendto(b"nonsense", path)
            sent += 1
        except BlockingIOError:
            pass
        except PermissionError:
            refused += 1
print("sent", sent, "refused", refused)
PY
}

@test "a stranger cannot send reports, and a flood of nonsense is a line or two in the log" {
    id=$(submit "exec sleep 600")
    await_state "$dir" "$id" running 30
    before=$(wc -l < "$dir/log")
    if [ "$(id -u)" = 0 ]; then
        chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$dir" "$dir/state" "$dir/state/engine"
        export -f send
        run setpriv --reuid=nobody --regid=nogroup --clear-groups \
            bash -c 'send 1000 "$@"' - "$dir"/state/engine/*.sock
        echo "$output"
        [ "$output" = "sent 0 refused 1000" ]
    fi
    for _ in $(seq 20); do
        send 1000 "$dir"/state/engine/*.sock
        sleep 0.05
    done
    sleep 0.5
    after=$(wc -l < "$dir/log")
    echo "$((after - before)) lines"
    [ $((after - before)) -le 10 ]
    [ "$(grep -c engine_reports_refused "$dir/log")" -le 2 ]
    grep -q engine_reports_refused "$dir/log"
    daemon_post "$dir" "/v1/jobs/$id/cancel"
}
