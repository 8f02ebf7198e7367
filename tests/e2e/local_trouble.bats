#!/usr/bin/env bats
# Jobs that do not behave, behind the daemon with the local engine: each is dealt with, and
# `corgi show` says what was the matter.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    write_config "$dir" "$([[ $BATS_TEST_NAME == *memory* ]] && echo 0.15 || echo 0)"
    [[ $BATS_TEST_NAME != *without_end* ]] || sed -i 's/^  output_mb:/  tasks: 40\n&/' "$dir/corgi.yaml"
    start_daemon "$dir"
}

teardown() {
    thaw
    stop_daemon "$dir" || true
    # Whatever a failed test has left runs on for nobody.
    processes_of "$dir" | xargs -r kill -9 || true
}

# A file system that stands still: whoever writes to it cannot even be killed.
freeze() {
    truncate -s 16M "$dir/disk"
    mkdir "$dir/frozen"
    mkfs.ext4 -q "$dir/disk" && mount -o loop "$dir/disk" "$dir/frozen" && fsfreeze --freeze "$dir/frozen"
}

thaw() {
    ! mountpoint -q "$dir/frozen" || { fsfreeze --unfreeze "$dir/frozen" || true; umount -l "$dir/frozen"; }
}

# submit NAME COMMAND [MORE]: prints the job's number
submit() {
    submit_job "$dir" "$1" "${3:-}" "$2" | jq .job.id
}

# shown JOB: what a person gets to see
shown() {
    "$CORGI_BIN/corgi" show --socket "$dir/corgi.sock" "$1"
}

# says JOB PATTERN: its reason in `corgi show`
says() {
    shown "$1"
    shown "$1" | grep -E "^ +reason +.*$2"
}

@test "a job that forks and ends first: what it left behind is stopped, and that is said" {
    id=$(submit forks "sleep 600 & sleep 600 & echo \$! > $dir/child; exit 0")
    await_state "$dir" "$id" "done" 30
    says "$id" "2 processes it left behind were stopped"
    is_gone "$(< "$dir/child")"
    no_process_of "$dir"
}

@test "a job that forks without end has no more processes than allowed, and others go on" {
    [ -w /sys/fs/cgroup/pids ] || grep -qw pids /sys/fs/cgroup/cgroup.controllers 2> /dev/null ||
        skip "no cgroups that bound processes"
    id=$(submit bomb "exec 2>&1; for i in \$(seq 200); do sleep 600 & done; exit 0")
    await_state "$dir" "$id" failed 30
    shown "$id" | grep -F "Cannot fork"
    no_process_of "$dir"
    id=$(submit after "exit 0")
    await_state "$dir" "$id" "done" 30
}

@test "a job that daemonises ends with its first process, and that is said" {
    # Twice forked, a session of its own, everything closed, the environment cleaned.
    id=$(submit daemonises "setsid -f env -i setsid -f sh -c 'echo \$\$ > $dir/far; exec sleep 600' \
        < /dev/null > /dev/null 2>&1; while [ ! -s $dir/far ]; do sleep 0.05; done")
    await_state "$dir" "$id" "done" 30
    says "$id" "1 process it left behind was stopped"
    is_gone "$(< "$dir/far")"
}

@test "a job that ignores SIGTERM and hides a daemon is killed when cancelled, and that is said" {
    id=$(submit stubborn "trap '' TERM; setsid -f env -i sh -c 'trap \"\" TERM; echo \$\$ > $dir/hidden; while :; do sleep 1; done'; while :; do sleep 1; done")
    await_file "$dir/hidden" 30
    hidden=$(< "$dir/hidden")
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 30
    await_gone "$hidden" 15
    no_process_of "$dir"
    for _ in $(seq 50); do
        shown "$id" | grep -q "SIGTERM" && break
        sleep 0.1
    done
    says "$id" "did not (end|stop) within 2 s (of|after) SIGTERM"
}

@test "a gigabyte of output does not fill the disk, its ends are kept, and that is said" {
    output=$dir/state/engine/jobs/1/attempt-1/output
    id=$(submit loud "echo the beginning; yes 'a line of a log that tells nothing of any rate' | head -c 1000000000; echo; echo the end" '"share":false')
    [ "$id" = 1 ]
    await_file "$output" 30
    most=0
    for _ in $(seq 600); do
        used=$(du -k "$output" | cut -f 1)
        [ "$used" -gt "$most" ] && most=$used
        [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq -r .state)" = "done" ] && break
        sleep 0.1
    done
    await_state "$dir" "$id" "done" 1
    echo "at most $most kB on disk"
    [ "$most" -le 2000 ] # output_mb: 2
    [ "$(head -n 1 "$output")" = "the beginning" ]
    [ "$(tail -n 1 "$output")" = "the end" ]
    grep -aE '^\[corgi-probe: +99[0-9]{7} bytes of output that were here are not kept\]$' "$output"
    says "$id" "99[0-9] MB of its output were not kept"
}

@test "binary output arrives untouched, and an end after it is told in plain text" {
    head -c 100000 /dev/urandom > "$dir/binary"
    id=$(submit binary "cat $dir/binary; printf '\\n\\033[31mit is \\377\\033]0;title\\007 broken\\033[0m\\n\\001\\000\\n'; exit 3")
    await_state "$dir" "$id" failed 30
    head -c 100000 "$dir/state/engine/jobs/$id/attempt-1/output" | cmp - "$dir/binary"
    says "$id" "exited with status 3: it is .* broken"
    # Nothing a terminal would act on, in what people see or in what programs read, and
    # no bytes that are not text.
    [ "$(shown "$id" | LC_ALL=C grep -c '[[:cntrl:]]')" = 0 ]
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | LC_ALL=C grep -c '[[:cntrl:]]')" = 0 ]
    shown "$id" | iconv -f UTF-8 -t UTF-8 > /dev/null
    daemon_get "$dir" "/v1/jobs/$id" | iconv -f UTF-8 -t UTF-8 | jq -e .reason
}

@test "a job that exits at once has its status and its last words shown" {
    id=$(submit brief "echo no such dataset: cifar-11 >&2; exit 7")
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .exit_status)" = 7 ]
    says "$id" "exited with status 7: no such dataset: cifar-11"
}

@test "a job that dies of a signal of its own has it shown" {
    id=$(submit crashes "echo at step 12; kill -SEGV \$\$")
    await_state "$dir" "$id" failed 30
    says "$id" "signal 11 .*at step 12"
}

@test "a command that is not there fails with its name" {
    id=$(daemon_post "$dir" /v1/jobs '{"command":["/nowhere/train","x"],"directory":"/tmp"}' | jq .job.id)
    await_state "$dir" "$id" failed 60
    says "$id" "/nowhere/train"
}

@test "out of memory is explained: what happened, and why it waits now" {
    id=$(submit greedy "tail -n 1 /dev/zero" '"memory_gb":0.1')
    for _ in $(seq 300); do
        daemon_get "$dir" "/v1/jobs/$id/history" | grep -q "out of memory" && break
        sleep 0.1
    done
    "$CORGI_BIN/corgi" show --history --socket "$dir/corgi.sock" "$id" |
        grep -E "out of memory: [0-9.]+ GB were used of the 0.15 GB"
    says "$id" memory
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_idle "$dir" 30
    no_process_of "$dir"
}

@test "many jobs that end at once have all their statuses" {
    for n in $(seq 12); do
        submit "at-once-$n" "exit $n" > "$dir/id-$n"
    done
    await_idle "$dir" 60
    for n in $(seq 12); do
        [ "$(daemon_get "$dir" "/v1/jobs/$(< "$dir/id-$n")" | jq .exit_status)" = "$n" ]
    done
    no_process_of "$dir"
}

@test "a job that kills its probe is tried again with pauses and then given up, and that is said" {
    began=$(date +%s)
    id=$(submit murders "kill -9 \$PPID; sleep 5")
    await_state "$dir" "$id" failed 60
    [ $(($(date +%s) - began)) -ge 10 ]
    says "$id" "given up after 5 attempts in a row that were lost or could not be started: corgi-probe was killed"
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .attempt)" = 5 ]
    [ "$(find "$dir/state/engine/jobs/$id" -name 'attempt-?' | wc -l)" = 5 ]
    no_process_of "$dir"
}

@test "a job that cannot be killed keeps its device; whoever was to follow it waits again and is told why" {
    [ "$(id -u)" = 0 ] || skip "needs root: a file system that stands still"
    freeze || skip "cannot mount here"
    stop_daemon "$dir"
    sed -i '/cpu-mid\|cpu-slow/d' "$dir/corgi.yaml"
    echo 'policy: {grace: 1s, preempt: priority}' >> "$dir/corgi.yaml"
    start_daemon "$dir"
    told_to_wait() {
        daemon_get "$dir" "/v1/jobs/$after/history?limit=100" |
            jq -e '[.events[] | select(.kind == "requeued" and .text == "the job before it does not leave its device")] | length > 0' > /dev/null
    }
    submit stuck "touch $dir/began; echo x > $dir/frozen/x" '"share": false, "total_steps": 1e6'
    for _ in $(seq 100); do [ ! -e "$dir/began" ] || break; sleep 0.1; done
    after=$(submit after "exit 0" '"share": false, "priority": 5, "total_steps": 10')
    for _ in $(seq 600); do ! told_to_wait || break; sleep 0.1; done
    told_to_wait
    [ ! -e "$dir/frozen/x" ]
    [ "$(daemon_get "$dir" "/v1/jobs/$after" | jq -r .state)" = waiting ]
    thaw
    await_state "$dir" "$after" "done" 60
}
