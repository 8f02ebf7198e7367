#!/usr/bin/env bats
# The local engine behind the daemon when things go wrong: processes killed in any order,
# jobs that do not behave.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    write_config "$dir" "$([[ $BATS_TEST_NAME == *memory* ]] && echo 0.15 || echo 0)"
    start_daemon "$dir"
}

teardown() {
    stop_daemon "$dir" || true
    # Whatever a failed test has left runs on for nobody.
    processes_of "$dir" | xargs -r kill -9 || true
}

# submit NAME COMMAND [MORE]: prints the job's number
submit() {
    submit_job "$dir" "$1" "${3:-}" "$2" | jq .job.id
}

@test "a daemon killed and started again adopts its jobs" {
    id=$(submit steady "echo \$\$ > $dir/job; while [ ! -e $dir/go ]; do sleep 0.1; done; exit 3")
    await_file "$dir/job" 30
    await_state "$dir" "$id" running 30
    stop_daemon "$dir" KILL
    kill -0 "$(< "$dir/job")"
    start_daemon "$dir"
    kill -0 "$(< "$dir/job")"
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq -r '.state, .attempt' | xargs)" = "running 1" ]
    touch "$dir/go"
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq '.exit_status, .attempt' | xargs)" = "3 1" ]
    no_process_of "$dir"
}

@test "a job that ended while no daemon ran is done" {
    id=$(submit short "echo \$\$ > $dir/job; while [ ! -e $dir/go ]; do sleep 0.1; done")
    await_file "$dir/job" 30
    stop_daemon "$dir" KILL
    touch "$dir/go"
    no_process_of "$dir"
    start_daemon "$dir"
    await_state "$dir" "$id" "done" 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .attempt)" = 1 ]
}

@test "a probe killed: the job is started again and nothing is left of the first" {
    id=$(submit twice "sleep 600 & echo \$! > $dir/child-\$CORGI_ATTEMPT; wait")
    await_file "$dir/child-1" 30
    probe=$(sed 's/^probe=\([0-9]*\) .*/\1/' "$dir/state/engine/jobs/$id/attempt-1/pid")
    kill -9 "$probe"
    await_file "$dir/child-2" 30
    is_gone "$(< "$dir/child-1")"
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 30
    no_process_of "$dir"
}

@test "probe and daemon killed: the next daemon leaves no orphan" {
    id=$(submit both "setsid -f sh -c 'echo \$\$ > $dir/far-\$CORGI_ATTEMPT; exec sleep 600'; sleep 600")
    await_file "$dir/far-1" 30
    probe=$(sed 's/^probe=\([0-9]*\) .*/\1/' "$dir/state/engine/jobs/$id/attempt-1/pid")
    stop_daemon "$dir" KILL
    kill -9 "$probe"
    start_daemon "$dir"
    await_file "$dir/far-2" 30
    is_gone "$(< "$dir/far-1")"
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 30
    no_process_of "$dir"
}

@test "a job that ignores SIGTERM and hides a daemon is gone when cancelled" {
    id=$(submit stubborn "trap '' TERM; setsid -f env -i sh -c 'trap \"\" TERM; echo \$\$ > $dir/hidden; while :; do sleep 1; done'; while :; do sleep 1; done")
    await_file "$dir/hidden" 30
    hidden=$(< "$dir/hidden")
    daemon_post "$dir" "/v1/jobs/$id/cancel"
    await_state "$dir" "$id" cancelled 30
    await_gone "$hidden" 10
    no_process_of "$dir"
}

@test "a hundred megabytes of binary output do not fill the disk" {
    id=$(submit loud "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 10000000 /dev/urandom; sleep 0.2; done; echo the end")
    await_state "$dir" "$id" "done" 60
    output=$dir/state/engine/jobs/$id/attempt-1/output
    [ "$(du -k "$output" | cut -f 1)" -lt 20000 ]
    [ "$(tail -n 1 "$output" | tail -c 8)" = "the end" ]
    grep -q "more output than" "$dir/log"
}

@test "a command that is not there fails with its name" {
    id=$(daemon_post "$dir" /v1/jobs '{"command":["/nowhere/train","x"],"directory":"/tmp"}' | jq .job.id)
    await_state "$dir" "$id" failed 60
    daemon_get "$dir" "/v1/jobs/$id" | jq -r .reason | grep -q /nowhere/train
}

@test "out of memory is explained" {
    id=$(submit greedy "tail -n 1 /dev/zero" '"memory_gb":0.1')
    for _ in $(seq 150); do
        daemon_get "$dir" "/v1/jobs/$id/history" | grep -q "out of memory" && break
        sleep 0.2
    done
    daemon_get "$dir" "/v1/jobs/$id/history" | grep "out of memory: .* GB were used of"
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
