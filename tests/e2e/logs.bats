#!/usr/bin/env bats
# What jobs print and how they end: `corgi logs`, `corgi show` and `corgi submit --wait`
# with real processes on the local engine, and on a simulated cluster, which prints nothing.

load local_daemon
load ../support/corgid.bash

setup_file() {
    export DIR=$BATS_FILE_TMPDIR
    # The folder of a test's user must be open to others: a job of nobody's writes there.
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2> /dev/null || true
    write_config "$DIR"
    start_daemon "$DIR"
    export CORGI_SOCKET=$DIR/corgi.sock
}

teardown_file() {
    stop_daemon "$BATS_FILE_TMPDIR"
}

corgi() {
    run timeout 60 "$CORGI_BIN/corgi" "$@"
    echo "$output"
}

@test "submit --wait ends with the reason, the last lines and the job's own status" {
    corgi submit --wait --name fails -- sh -c 'seq 30; echo "no data" >&2; exit 7'
    [ "$status" -eq 7 ]
    [[ $output == *"is failed: ended with exit status 7"* ]]
    [[ $output == *$'\n22\n'*$'\n30\nno data' ]]
    [[ $output != *$'\n20\n'* ]]
    corgi submit --wait -- sh -c 'kill -TERM $$'
    [ "$status" -eq 143 ]
    corgi submit --wait -- echo hello
    [ "$status" -eq 0 ]
    [[ $output == *"is done"*hello ]]
}

@test "logs: the whole output after the end, the last lines, and a file that show names" {
    id=$("$CORGI_BIN/corgi" submit --parsable --name counts -- sh -c 'seq 200000')
    await_state "$DIR" "$id" "done" 30
    "$CORGI_BIN/corgi" logs "$id" > "$DIR/seen" # several pieces
    seq 200000 | cmp - "$DIR/seen"
    corgi logs "$id" --lines 2
    [ "$output" = $'199999\n200000' ]
    file=$(daemon_get "$DIR" "/v1/jobs/$id" | jq -r .output)
    cmp "$file" "$DIR/seen"
    corgi show "$id"
    [[ $output == *"$file"* ]]
    corgi logs "$id" --attempt 2
    [ "$status" -eq 1 ]
    [[ $output == *"no attempt 2"* ]]
    rm "$file"
    corgi logs "$id"
    [ "$status" -eq 1 ]
    [[ $output == *"there is no output of attempt 1 of job $id"* ]]
}

@test "logs --follow: as it comes, through a restart of the job, to its end" {
    rm -f "$DIR/go"
    id=$("$CORGI_BIN/corgi" submit --parsable --name follows -- sh -c \
        "echo begins; while [ ! -e $DIR/go ]; do sleep 0.1; done; echo ends")
    await_state "$DIR" "$id" running 30
    "$CORGI_BIN/corgi" logs "$id" --follow > "$DIR/followed" 2> "$DIR/noted" 3>&- &
    follower=$!
    await_file "$DIR/followed" 20
    [ "$(cat "$DIR/followed")" = begins ]
    "$CORGI_BIN/corgi" requeue "$id"
    for _ in $(seq 100); do
        [ "$(cat "$DIR/followed")" = $'begins\nbegins' ] && break
        sleep 0.2
    done
    touch "$DIR/go"
    wait "$follower"
    [ "$(cat "$DIR/followed")" = $'begins\nbegins\nends' ]
    grep -q 'attempt 2' "$DIR/noted"
    corgi logs "$id" --attempt 1
    [ "$output" = begins ]
    corgi show "$id" # this start and the first one
    [[ $output == *"first started   20"*"started         20"* ]]
}

@test "an ended job keeps its mean rate, exit status, reason, name and energy over a restart" {
    # shellcheck disable=SC2016  # for the inner shell
    id=$("$CORGI_BIN/corgi" submit --parsable --name keeps --steps 1000 -- sh -c \
        'for i in $(seq 0 20 100); do echo "step $i/1000"; sleep 0.5; done; exit 4')
    await_state "$DIR" "$id" failed 60
    stop_daemon "$DIR"
    start_daemon "$DIR"
    daemon_get "$DIR" "/v1/jobs/$id" | tee "$DIR/kept"
    jq -e '.name == "keeps" and .exit_status == 4 and .reason_code == "exit" and .joules >= 0
        and .steps_done == 100 and .mean_rate > 20 and .mean_rate < 60' "$DIR/kept"
    corgi show "$id"
    [[ $output == *"exit            status 4"* && $output == *"mean rate "*"steps/s while it ran"* ]]
    corgi queue --all
    [[ $output == *"keeps"*"(ended with exit status 4"* ]]
}

@test "logs: a file the user named is read, a link to another's is not" {
    id=$("$CORGI_BIN/corgi" submit --parsable --output "$DIR/mine" -- echo here)
    await_state "$DIR" "$id" "done" 30
    corgi logs "$id"
    [ "$output" = here ]
    [ "$(id -u)" = 0 ] || skip "needs root, to be two users"
    folder=$(mktemp -d /tmp/corgi-logs.XXXXXX)
    chown 65534:65534 "$folder"
    id=$(curl -sS --unix-socket "$DIR/corgi.sock" --max-time 20 http://corgi/healthz > /dev/null
        cd /tmp && setpriv --reuid 65534 --regid 65534 --clear-groups \
            "$CORGI_BIN/corgi" submit --parsable --output "$folder/out" -- echo theirs) ||
        skip "another user cannot reach the socket"
    await_state "$DIR" "$id" "done" 30
    as_nobody() { run setpriv --reuid 65534 --regid 65534 --clear-groups "$CORGI_BIN/corgi" "$@"; }
    as_nobody logs "$id"
    [ "$output" = theirs ]
    echo secret > "$DIR/secret"
    chmod 600 "$DIR/secret"
    rm "$folder/out"
    ln -s "$DIR/secret" "$folder/out"
    as_nobody logs "$id"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output != *secret$'\n'* && $output == *"cannot read"* ]]
    chmod 644 "$DIR/secret" # even where it could be read it is not the job's user's
    as_nobody logs "$id"
    [ "$status" -eq 1 ]
    [[ $output == *"not a plain file of the user"* ]]
    # The owner sees the environment, an operator the command alone.
    as_nobody show "$id" --json
    jq -e '.environment.PATH and .command' <<< "$output"
    corgi show "$id" --json
    jq -e '(has("environment") | not) and .command' <<< "$output"
    as_nobody logs 1 # root's job
    [ "$status" -eq 1 ]
    [[ $output == *"another user's"* ]]
    rm -rf "$folder"
}

@test "logs: a job that waits, one that printed nothing, and a number that is none" {
    id=$("$CORGI_BIN/corgi" submit --parsable --hold -- true)
    corgi logs "$id"
    [ "$status" -eq 0 ]
    [ "$output" = "job $id has not been started yet" ]
    "$CORGI_BIN/corgi" release "$id"
    await_state "$DIR" "$id" "done" 30
    corgi logs "$id"
    [ "$output" = "job $id has printed nothing" ]
    corgi logs abc
    [ "$status" -eq 2 ]
    [[ $output == *"'abc' is not a job number"* ]]
    corgi logs 4711
    [ "$status" -eq 1 ]
}

@test "logs: a simulated job says that nothing runs" {
    corgid_folder
    corgid_start
    # shellcheck disable=SC2153  # set by corgid.bash
    export CORGI_SOCKET=$CORGID_SOCKET
    corgi submit --wait --steps 5000 -- echo hello
    [ "$status" -eq 0 ]
    [[ $output == *"is done" ]]
    corgi logs 1 --follow
    [ "$status" -eq 0 ]
    [ "$output" = "job 1 is simulated: no program runs, so nothing is printed" ]
    corgid_clean
}
