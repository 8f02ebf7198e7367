#!/usr/bin/env bats
# The daemon with the local engine, and its jobs, under the sandbox of the unit that is
# installed.  No systemd runs here: tests/support/sandbox.py applies the unit's own lines, and
# refuses a unit with a line it does not know.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    DESTDIR=$dir/root cmake --install "$CORGI_BIN/.." > "$dir/install.log"
    unit=$(find "$dir/root" -name corgid.service)
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

needs_root() {
    [ "$(id -u)" = 0 ] || skip "only root makes a sandbox"
    python3 "$BATS_TEST_DIRNAME/../support/sandbox.py" "$unit" true || skip "no sandbox can be made here"
}

# start_sandboxed: as the unit does, with folders of the test's own
start_sandboxed() {
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    CORGI_LAUNCHER="python3 $BATS_TEST_DIRNAME/../support/sandbox.py $unit" start_daemon "$dir"
}

@test "systemd rates the unit's exposure at 6.0 of 10 or less" {
    command -v systemd-analyze > /dev/null || skip "systemd-analyze is not installed"
    run systemd-analyze security --offline=yes --no-pager "$unit"
    echo "$output"
    rating=$(sed -n 's/.*Overall exposure level for corgid.service: \([0-9.]*\) .*/\1/p' <<< "$output")
    [ -n "$rating" ]
    awk -v rating="$rating" 'BEGIN { exit rating > 6.0 }'
}

@test "every line of the unit is applied by the launcher, or is the manager's" {
    run python3 "$BATS_TEST_DIRNAME/../support/sandbox.py" --list "$unit"
    [ "$status" -eq 0 ]
    [[ $output == *"CapabilityBoundingSet"*"applied"* ]]
    sed -i "/^\[Service\]\$/a ProtectSomethingNew=yes" "$unit"
    run python3 "$BATS_TEST_DIRNAME/../support/sandbox.py" --list "$unit"
    [ "$status" -ne 0 ]
    [[ $output == *"ProtectSomethingNew"* ]]
}

@test "a job of another user runs in it, is measured, stopped, and adopted after a kill" {
    needs_root
    write_config "$dir"
    start_sandboxed
    # www-data submits; the kernel says who it is.
    # shellcheck disable=SC2016  # for the job's shell
    id=$(setpriv --reuid=33 --regid=33 --clear-groups curl -sS --max-time 20 \
        --unix-socket "$dir/corgi.sock" -H 'Content-Type: application/json' -d '{"name": "sandboxed",
        "command": ["/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo step $i/1000000; sleep 0.2; done"],
        "directory": "/tmp", "share": false, "stop_grace_s": 2}' http://corgi/v1/jobs | jq .job.id)
    await_state "$dir" "$id" running 30
    for _ in $(seq 100); do
        [ "$(daemon_get "$dir" "/v1/jobs/$id/measurements" | jq '.points | length')" -ge 2 ] && break
        sleep 0.1
    done
    daemon_get "$dir" "/v1/jobs/$id/measurements"
    [ "$(daemon_get "$dir" "/v1/jobs/$id/measurements" | jq '.points | length')" -ge 2 ]
    child=$(sed 's/.* child=\([0-9]*\) .*/\1/' "$dir/state/engine/jobs/$id/attempt-1/pid")
    [ "$(stat -c %u "/proc/$child")" = 33 ]
    stop_daemon "$dir" KILL
    start_sandboxed
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq -r '.state, .attempt' | xargs)" = "running 1" ]
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_gone "$child" 20
    await_state "$dir" "$id" cancelled 20
    stop_daemon "$dir"
    [ -z "$(grep -E 'level=error| error ' "$dir/log" || true)" ]
    no_process_of "$dir"
}

@test "what the sandbox shuts is shut for jobs, root's too" {
    needs_root
    write_config "$dir"
    start_sandboxed
    cat > "$dir/try.sh" << 'SH'
grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/self/status
touch /usr/corgi-was-here && echo wrote /usr
touch /etc/corgi-was-here && echo wrote /etc
cp /bin/true "$CORGI_HEARTBEAT.program" && chmod u+s "$CORGI_HEARTBEAT.program" && echo setuid
python3 - << 'PY'
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
for family, name in ((17, "packet"), (40, "vsock")):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print("socket", name)
    except OSError:
        pass
class Timex(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]
if libc.clock_settime(0, ctypes.byref(Timex(os.stat("/").st_ctime_ns // 10**9, 0))) == 0:
    print("clock set")
for call, arguments in (("sethostname", (b"x", 1)), ("swapoff", (b"/x",)), ("klogctl", (3, None, 0)),
                        ("personality", (0x0040000,)), ("delete_module", (b"x", 0))):
    if getattr(libc, call, lambda *a: -1)(*arguments) >= 0:
        print("call", call)
PY
mount -t tmpfs none /mnt && echo mounted
ls -d /proc/1 > /dev/null 2>&1 && echo saw /proc/1
echo the end
SH
    chmod 755 "$dir/try.sh"
    id=$(submit_job "$dir" tries '' "sh $dir/try.sh 2> /dev/null" | jq .job.id)
    await_state "$dir" "$id" "done" 60
    run cat "$dir/state/engine/jobs/$id/attempt-1/output"
    echo "$output"
    [[ $output == *"NoNewPrivs:"*1* && $output == *"Seccomp:"*2* && $output == *"the end"* ]]
    for wrong in "wrote /usr" "wrote /etc" setuid "socket packet" "socket vsock" "clock set" "call " mounted; do
        [[ $output != *"$wrong"* ]]
    done
    # The bounding set is what the unit gives: signals, but no say over the system.
    bound=$(sed -n 's/^CapBnd:\s*//p' <<< "$output")
    [ $((0x$bound & (1 << 5))) != 0 ]  # CAP_KILL
    [ $((0x$bound & (1 << 21))) = 0 ] # CAP_SYS_ADMIN
    # Another user sees nobody else's processes.
    seen=$(setpriv --reuid=33 --regid=33 --clear-groups curl -sS --max-time 20 \
        --unix-socket "$dir/corgi.sock" -H 'Content-Type: application/json' -d '{"name": "looks",
        "command": ["/bin/sh", "-c", "ls -d /proc/1 || echo hidden"], "directory": "/tmp"}' \
        http://corgi/v1/jobs | jq .job.id)
    await_state "$dir" "$seen" "done" 30
    grep -q hidden "$dir/state/engine/jobs/$seen/attempt-1/output"
}
