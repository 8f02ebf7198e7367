#!/usr/bin/env bats
# A number means one job for ever: also after a backup was put back or the log was lost,
# nothing of an old attempt is believed of a new one.
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    write_config "$dir"
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

# submit COMMAND [MORE]: prints the job's number
submit() {
    submit_job "$dir" job "${2:-}" "$1" | jq .job.id
}

restore() { # FILE: as docs/store.md says
    rm -f "$dir"/state/corgi.db "$dir"/state/corgi.db-wal "$dir"/state/corgi.db-shm
    cp "$1" "$dir/state/corgi.db"
}

# what people and programs are told of a store that lost something
says_shortened() {
    grep -q store_shortened "$dir/log"
    daemon_get "$dir" /v1/summary | jq -e '.warnings | length == 1'
    daemon_get "$dir" /v1/summary | jq -r '.warnings[0]' | grep -q 'older than'
    daemon_get "$dir" /metrics | grep -qx 'corgi_store_shortened 1'
    "$CORGI_BIN/corgi" queue --socket "$dir/corgi.sock" 2>&1 | grep -q 'older than'
}

@test "after a backup was put back a new job has a number, a result and an output of its own" {
    start_daemon "$dir"
    id=$(submit true)
    await_state "$dir" "$id" "done" 30
    "$CORGI_BIN/corgi" store backup "$dir/state/corgi.db" "$dir/backup"
    old=$(submit "echo secret of another; exit 7")
    await_state "$dir" "$old" failed 30
    stop_daemon "$dir"
    restore "$dir/backup"
    start_daemon "$dir"
    says_shortened
    new=$(submit "echo mine; touch $dir/ran")
    [ "$new" -gt "$old" ]
    await_state "$dir" "$new" "done" 30
    [ -e "$dir/ran" ]
    [ "$(cat "$dir/state/engine/jobs/$new/attempt-1/output")" = mine ]
    [ "$(daemon_get "$dir" "/v1/jobs/$old" | jq -r .error.code)" = not_found ]
    # The next start has nothing to say: the store is what it was.
    stop_daemon "$dir"
    start_daemon "$dir"
    [ "$(daemon_get "$dir" /v1/summary | jq '.warnings | length')" = 0 ]
}

@test "after a backup was put back, what runs of later jobs and attempts is ended" {
    start_daemon "$dir"
    id=$(submit "echo \$\$ >> $dir/pids; exec sleep 600" '"hold":true')
    "$CORGI_BIN/corgi" store backup "$dir/state/corgi.db" "$dir/backup"
    daemon_post "$dir" "/v1/jobs/$id/release"
    await_file "$dir/pids" 30
    late=$(submit "echo \$\$ > $dir/late; exec sleep 600")
    await_file "$dir/late" 30
    stop_daemon "$dir" KILL
    restore "$dir/backup"
    start_daemon "$dir"
    await_gone "$(< "$dir/late")" 20
    await_gone "$(head -1 "$dir/pids")" 20
    grep "\"$late\|job $late" "$dir/log" | grep -q 'nobody knows it'
    # The job that is in the store runs again when it is released, from the beginning.
    daemon_post "$dir" "/v1/jobs/$id/release"
    for _ in $(seq 300); do
        [ "$(wc -l < "$dir/pids")" = 2 ] && break
        sleep 0.1
    done
    [ "$(wc -l < "$dir/pids")" = 2 ]
    grep -q engine_folder_aside "$dir/log"
}

@test "a folder that is there already is put aside, and its status not believed" {
    start_daemon "$dir"
    id=$(submit "touch $dir/ran; exit 3" '"hold":true')
    folder=$dir/state/engine/jobs/$id/attempt-1
    mkdir -p "$folder"
    echo "ended job=$id attempt=1 at=1 exit=0 signal=0 started=1" > "$folder/status"
    daemon_post "$dir" "/v1/jobs/$id/release"
    await_state "$dir" "$id" failed 30
    [ -e "$dir/ran" ]
    [ -e "$folder.found-1/status" ]
    grep -q engine_folder_aside "$dir/log"
}

@test "a log that was lost is noticed, and no number is given again" {
    sed -i 's/^engine: local/engine: sim/' "$dir/corgi.yaml"
    start_daemon "$dir"
    for _ in $(seq 30); do
        last=$(submit true '"hold":true')
    done
    stop_daemon "$dir" KILL
    rm "$dir/state/corgi.db-wal" "$dir/state/corgi.db-shm"
    start_daemon "$dir"
    says_shortened
    [ "$(submit true)" -gt "$last" ]
    "$CORGI_BIN/corgi" store check "$dir/state/corgi.db"
}

@test "a store that was removed is noticed, and numbers go on" {
    start_daemon "$dir"
    last=$(submit "exit 7")
    await_state "$dir" "$last" failed 30
    stop_daemon "$dir"
    rm "$dir"/state/corgi.db*
    start_daemon "$dir"
    [ "$(submit true)" -gt "$last" ] # by the folders of the engine
    stop_daemon "$dir"
    last=$(jq -r .job.id <(start_daemon "$dir" && submit_job "$dir" job '' true))
    stop_daemon "$dir"
    rm "$dir/state/corgi.db"
    rm -r "$dir/state/engine/jobs"
    start_daemon "$dir"
    grep -q store_shortened "$dir/log"
    [ "$(submit true)" -gt "$last" ] # by the mark beside the lock
}

@test "a kill alone is no loss: nothing is said and numbers have no gap" {
    sed -i 's/^engine: local/engine: sim/' "$dir/corgi.yaml"
    start_daemon "$dir"
    last=$(submit true '"hold":true')
    stop_daemon "$dir" KILL
    start_daemon "$dir"
    [ "$(submit true '"hold":true')" = $((last + 1)) ]
    run ! grep -q store_shortened "$dir/log"
    [ "$(daemon_get "$dir" /v1/summary | jq '.warnings | length')" = 0 ]
}
