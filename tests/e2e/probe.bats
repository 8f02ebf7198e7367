#!/usr/bin/env bats
# corgi-probe from outside: output untouched, ends told exactly, nothing left running.

bats_require_minimum_version 1.5.0

setup() {
    probe="$CORGI_BIN/corgi-probe"
    dir=$(mktemp -d)
    here=$(dirname "$BATS_TEST_FILENAME")
}

# To be killed at the end, whatever happens.
started() { # pid
    echo "$1" >> "$dir/started"
}

teardown() {
    local pid
    while read -r pid; do
        kill -KILL "$pid" 2> /dev/null || true
    done < <(cat "$dir/started" 2> /dev/null)
    rm -rf "$dir"
}

# A value of a key=value line.
value() { # file key
    sed -n "s/.*\\b$2=\\(\"[^\"]*\"\\|[^ ]*\\).*/\\1/p" "$1" | tail -1
}

# Until the command succeeds, or the test fails after that many seconds.
await() { # seconds command...
    local until=$((SECONDS + $1))
    shift
    until "$@" 2> /dev/null; do
        ((SECONDS < until)) || {
            echo "gave up waiting for: $*"
            return 1
        }
        sleep 0.05
    done
}

# Not there, or dead and waiting for init.
is_gone() { # pid
    [ ! -d "/proc/$1" ] || [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -c1)" = Z ]
}

# Lines of every datagram, until it is stopped.
listen() { # socket file
    python3 - "$1" "$2" << 'PY' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if os.path.exists(sys.argv[1]):
    os.unlink(sys.argv[1])
s.bind(sys.argv[1])
with open(sys.argv[2], "a", buffering=1) as f:
    while True:
        f.write(s.recv(4096).decode() + "\n")
PY
    listener=$!
    started "$listener"
    await 10 test -S "$1"
}

@test "output passes byte for byte, binary and without newlines" {
    head -c 100000000 /dev/urandom > "$dir/in"
    "$probe" --job 1 -- cat "$dir/in" > "$dir/out"
    cmp "$dir/in" "$dir/out"
    "$probe" --job 1 -- cat "$dir/in" | cmp - "$dir/in"
    "$probe" --job 1 --output "$dir/file" -- cat "$dir/in"
    cmp "$dir/in" "$dir/file"
    head -c 20000000 /dev/zero | tr '\0' a > "$dir/in"
    # shellcheck disable=SC2016
    "$probe" --job 1 -- sh -c 'cat "$1" >&2' _ "$dir/in" 2> "$dir/out"
    cmp "$dir/in" "$dir/out"
}

@test "stdout and stderr stay apart, and in order where they are one" {
    run --separate-stderr "$probe" --job 1 -- sh -c 'echo out; echo err >&2'
    [ "$output" = out ]
    [ "$stderr" = err ]
    # shellcheck disable=SC2016
    "$probe" --job 1 --output "$dir/both" -- \
        sh -c 'for i in 1 2 3 4 5; do echo "out $i"; echo "err $i" >&2; done'
    diff "$dir/both" - << 'END'
out 1
err 1
out 2
err 2
out 3
err 3
out 4
err 4
out 5
err 5
END
}

@test "a reader that goes away ends the job as without the probe" {
    "$probe" --job 1 --dir "$dir/job" -- yes | head -1
    await 10 test -e "$dir/job/status"
    [ "$(value "$dir/job/status" signal)" -eq 13 ]
}

@test "exit statuses and signals are told exactly" {
    local code
    for code in 0 1 3 255; do
        run "$probe" --job 4 --attempt 2 --dir "$dir/job" -- sh -c "exit $code"
        [ "$status" -eq "$code" ]
        [ "$(value "$dir/job/status" exit)" -eq "$code" ]
        [ "$(value "$dir/job/status" job)" -eq 4 ]
        [ "$(value "$dir/job/status" attempt)" -eq 2 ]
    done
    # shellcheck disable=SC2016
    run "$probe" --job 4 --dir "$dir/job" -- sh -c 'kill -SEGV $$'
    [ "$status" -eq 139 ]
    [ "$(value "$dir/job/status" signal)" -eq 11 ]
    run "$probe" --job 4 --dir "$dir/job" -- sh -c 'echo cannot read the data >&2; exit 7'
    [[ $(value "$dir/job/status" text) == *"status 7: cannot read the data"* ]]
}

@test "what cannot be started is told as a shell would" {
    run -127 "$probe" --job 1 --dir "$dir/job" -- no-such-command-here
    [[ $output == *"no-such-command-here"* ]]
    run grep -c started= "$dir/job/status"
    [ "$output" -eq 0 ]
    [ "$(value "$dir/job/status" exit)" -eq 127 ]
    touch "$dir/plain"
    run "$probe" --job 1 --dir "$dir/job" -- "$dir/plain"
    [ "$status" -eq 126 ]
    [[ $(value "$dir/job/status" text) == *"Permission denied"* ]]
}

@test "a wrong option is one sentence and starts nothing" {
    run "$probe" --job 1 --report nowhere -- touch "$dir/ran"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    run "$probe" --job 1 --metrics-url https://x/ -- touch "$dir/ran"
    [ "$status" -eq 1 ]
    run "$probe" --job 1 --grace -3 -- touch "$dir/ran"
    [ "$status" -eq 2 ]
    run "$probe" --job 1
    [ "$status" -eq 2 ]
    [ ! -e "$dir/ran" ]
}

@test "jobs that end at once always leave their status" {
    local i
    for i in $(seq 40); do
        rm -f "$dir/job/status"
        "$probe" --job "$i" --dir "$dir/job" -- true
        [ "$(value "$dir/job/status" job)" -eq "$i" ]
        [ "$(value "$dir/job/status" exit)" -eq 0 ]
    done
}

@test "the pid file names probe and job with their start times" {
    "$probe" --job 1 --dir "$dir/job" -- sleep 30 &
    started "$!"
    local me=$! child
    await 10 test -e "$dir/job/pid"
    [ "$(value "$dir/job/pid" probe)" -eq "$me" ]
    child=$(value "$dir/job/pid" child)
    [ "$(value "$dir/job/pid" child_start)" = "$(sed 's/.*) //' "/proc/$child/stat" | cut -d' ' -f20)" ]
    [ "$(ps -o pgid= -p "$child" | tr -d ' ')" = "$child" ]
    kill -TERM "$me"
    wait "$me" || [ $? -eq 143 ]
    is_gone "$child"
}

@test "signals go on to the job, whose own end counts" {
    # shellcheck disable=SC2016
    "$probe" --job 1 --dir "$dir/job" -- bash -c 'trap "echo usr1 >> $0" USR1
        trap "echo saved >> $0; exit 5" TERM
        echo ready >> $0
        while :; do sleep 0.1; done' "$dir/said" &
    started "$!"
    local me=$! code=0
    await 10 grep -q ready "$dir/said"
    kill -USR1 "$me"
    await 10 grep -q usr1 "$dir/said"
    kill -TERM "$me"
    wait "$me" || code=$?
    [ "$code" -eq 5 ]
    grep -q saved "$dir/said"
}

@test "a job that ignores SIGTERM is killed with all it started, detached ones too" {
    # shellcheck disable=SC2016
    "$probe" --job 1 --dir "$dir/job" --grace 1 -- bash -c 'trap "" TERM
        (setsid bash -c "trap \"\" TERM; echo \$\$ > $0.a; exec sleep 600" &)
        setsid nohup sleep 600 > /dev/null 2>&1 &
        echo $! > $0.b
        sleep 600' "$dir/pid" &
    started "$!"
    local me=$! code=0
    await 10 test -s "$dir/pid.a"
    await 10 test -s "$dir/pid.b"
    kill -TERM "$me"
    wait "$me" || code=$?
    [ "$code" -eq 137 ]
    [[ $(value "$dir/job/status" text) == *"did not stop within 1 s"* ]]
    is_gone "$(< "$dir/pid.a")"
    is_gone "$(< "$dir/pid.b")"
}

@test "what a job leaves behind is stopped and mentioned" {
    # shellcheck disable=SC2016
    run "$probe" --job 1 --dir "$dir/job" -- \
        bash -c '(setsid sleep 600 > /dev/null 2>&1 & echo $! > "$0"); exit 4' "$dir/pid"
    [ "$status" -eq 4 ]
    is_gone "$(< "$dir/pid")"
    [[ $(value "$dir/job/status" text) == *"1 process it left behind was stopped"* ]]
}

@test "the last words of a pipeline are not cut off" {
    # shellcheck disable=SC2016
    "$probe" --job 1 --output "$dir/out" -- \
        bash -c 'exec > >(sleep 0.3; cat); echo first; echo last'
    [ "$(tail -1 "$dir/out")" = last ]
}

@test "a halted job can be stopped" {
    "$probe" --job 1 --dir "$dir/job" --grace 20 -- sleep 600 &
    started "$!"
    local me=$! code=0
    await 10 test -e "$dir/job/pid"
    kill -STOP "$(value "$dir/job/pid" child)"
    kill -TERM "$me"
    wait "$me" || code=$?
    [ "$code" -eq 143 ]
}

@test "the job dies with a probe that is killed" {
    "$probe" --job 1 --dir "$dir/job" -- sleep 600 &
    started "$!"
    local me=$! child
    await 10 test -e "$dir/job/pid"
    child=$(value "$dir/job/pid" child)
    kill -KILL "$me"
    await 10 is_gone "$child"
    [ ! -e "$dir/job/status" ]
}

@test "running out of memory is told" {
    run "$probe" --job 1 --dir "$dir/job" -- bash -c \
        'ulimit -v 400000; exec python3 -c "x = bytearray(10**10)"'
    [ "$status" -eq 1 ]
    [ "$(value "$dir/job/status" oom)" -eq 1 ]
    [[ $(value "$dir/job/status" text) == *"out of memory"* ]]
    run "$probe" --job 1 --dir "$dir/job" -- bash -c \
        'echo "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; exit 1'
    [ "$(value "$dir/job/status" oom)" -eq 1 ]
    run "$probe" --job 1 --dir "$dir/job" -- bash -c 'echo fine; exit 1'
    [ "$(value "$dir/job/status" oom)" -eq 0 ]
}

@test "a limit on the job's cgroup is recognised" {
    local group="/sys/fs/cgroup/memory/corgi-test-$$"
    mkdir "$group" 2> /dev/null || skip "no memory cgroup can be made here"
    if ! echo 50M > "$group/memory.limit_in_bytes" 2> /dev/null; then
        rmdir "$group"
        skip "no memory limit can be set here"
    fi
    # shellcheck disable=SC2016
    run bash -c 'echo $$ > "$1/cgroup.procs" && exec "$2" --job 1 --dir "$3" -- \
        python3 -c "x = bytearray(300000000)"' _ "$group" "$probe" "$dir/job"
    rmdir "$group"
    cat "$dir/job/status"
    [ "$status" -eq 137 ]
    [ "$(value "$dir/job/status" oom)" -eq 1 ]
}

@test "reports arrive, and an engine that is away harms nobody" {
    listen "$dir/reports" "$dir/heard"
    # shellcheck disable=SC2016
    "$probe" --job 9 --attempt 3 --dir "$dir/job" --window 0.5 --report "unix:$dir/reports" -- \
        bash -c 'for i in $(seq 40); do echo "step $((i * 5))/1000 loss 1.0"; sleep 0.1; done'
    await 10 grep -q "kind=ended" "$dir/heard"
    cat "$dir/heard"
    grep -q "^corgi=1 kind=started job=9 attempt=3 at=" "$dir/heard"
    grep -q "kind=rate job=9 .*source=log" "$dir/heard"
    grep -q "kind=ended job=9 attempt=3 .*exit=0 signal=0 oom=0" "$dir/heard"
    kill "$listener"
    rm -f "$dir/reports"
    # shellcheck disable=SC2016
    "$probe" --job 10 --window 0.5 --report "unix:$dir/reports" -- \
        bash -c 'for i in $(seq 60); do echo "step $((i * 5))/1000 loss 1.0"; sleep 0.1; done' \
        > "$dir/out" &
    local me=$!
    started "$me"
    sleep 1.5
    listen "$dir/reports" "$dir/again"
    wait "$me"
    await 10 grep -q "kind=ended job=10" "$dir/again"
    cat "$dir/again"
    grep -q "kind=started job=10" "$dir/again"
    grep -q "kind=rate job=10" "$dir/again"
    [ "$(wc -l < "$dir/out")" -eq 60 ]
}

@test "heartbeats from C, Python and the shell are heard first" {
    local clients="$here/../../examples/clients"
    listen "$dir/reports" "$dir/heard"
    cat > "$dir/beat.c" << 'END'
#include "corgi_heartbeat.h"
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 30; i++, usleep(100000)) {
        printf("noise 77.0 it/s\n");
        fflush(stdout);
        corgi_heartbeat("steps=%d", i * 4);
    }
    return 0;
}
END
    cc -Wall -Werror -I "$clients" -o "$dir/beat" "$dir/beat.c"
    "$probe" --job 1 --window 0.5 --report "unix:$dir/reports" -- "$dir/beat" > /dev/null
    cat > "$dir/beat.py" << 'END'
import time
from corgi_heartbeat import heartbeat
for i in range(30):
    heartbeat(steps=i * 4)
    time.sleep(0.1)
END
    PYTHONPATH="$clients" "$probe" --job 2 --window 0.5 --report "unix:$dir/reports" -- \
        python3 "$dir/beat.py"
    # shellcheck disable=SC2016
    PATH="$CORGI_BIN:$PATH" "$probe" --job 3 --window 0.5 --report "unix:$dir/reports" -- \
        bash -c '. "$0/corgi_heartbeat.sh"
        for i in $(seq 30); do corgi_heartbeat "steps=$((i * 4))"; sleep 0.1; done' "$clients"
    await 10 grep -q "kind=ended job=3" "$dir/heard"
    cat "$dir/heard"
    for job in 1 2 3; do
        grep -q "kind=rate job=$job .*source=heartbeat" "$dir/heard"
        run grep -c "kind=rate job=$job .*source=log" "$dir/heard"
        [ "$output" -eq 0 ]
    done
    "$dir/beat" > /dev/null # alone it does nothing
}

@test "a terminal is given only where there would have been one" {
    run "$probe" --job 1 -- sh -c 'test -t 1 || echo pipe'
    [ "$output" = pipe ]
    python3 - "$probe" > "$dir/out" << 'PY'
import os, pty, sys
code = pty.spawn([sys.argv[1], "--job", "1", "--", "sh", "-c",
                  "test -t 1 && test -t 2 && test -t 0 && echo terminal; stty size; exit 6"],
                 lambda fd: os.read(fd, 1024))
sys.exit(0 if os.waitstatus_to_exitcode(code) == 6 else 1)
PY
    cat "$dir/out"
    grep -q terminal "$dir/out"
}

@test "a reader that does not read stops neither signals nor reports" {
    mkfifo "$dir/pipe"
    exec 5<> "$dir/pipe" # open, and never read
    "$probe" --job 1 --dir "$dir/job" --grace 2 -- yes > "$dir/pipe" &
    local me=$! code=0
    started "$me"
    await 10 test -e "$dir/job/pid"
    sleep 0.5
    kill -TERM "$me"
    wait "$me" || code=$?
    exec 5>&-
    [ "$code" -eq 143 ]
    [ -e "$dir/job/status" ]
}

# on_small_disk SCRIPT: in $dir/disk, 256 kB that nobody else sees; as root in a user
# namespace where we are not
on_small_disk() {
    local own=(unshare -m)
    [ "$(id -u)" = 0 ] || own=(unshare -rm)
    "${own[@]}" true 2> /dev/null || skip "no mount of our own is allowed here"
    mkdir -p "$dir/disk"
    # shellcheck disable=SC2016  # for the inner shell
    run "${own[@]}" bash -c 'mount -t tmpfs -o size=256k small "$1" && cd "$1" && eval "$2"' _ \
        "$dir/disk" "$1"
}

@test "how a job ended is known although the disk is full at its end" {
    on_small_disk "\"$probe\" --job 1 --dir job --output out -- \
        sh -c 'head -c 1000000 /dev/zero > rest; exit 4'; echo code \$?; cat job/status"
    [[ $output == *"code 4"* ]]
    [[ $output == *"exit=4"* ]]
}

@test "a job that began on a full disk tells its end when there is room" {
    on_small_disk "mkdir job; head -c 1000000 /dev/zero > rest; (sleep 1.5; rm rest) & \
        \"$probe\" --job 1 --dir job --output out -- sh -c 'exit 4'; echo code \$?; cat job/status"
    [[ $output == *"code 4"* ]]
    [[ $output == *"exit=4"* ]]
}

@test "a full disk loses output, not the job" {
    run bash -c 'trap "" XFSZ; ulimit -f 100; exec "$@"' _ "$probe" --job 1 --dir "$dir/job" \
        --output "$dir/out" -- sh -c 'head -c 1000000 /dev/zero; echo still here >&2; exit 3'
    [ "$status" -eq 3 ]
    [[ $(value "$dir/job/status" text) == *"of output were lost"* ]]
}
