#!/usr/bin/env bats
# corgi store: check, backup and export from the command line.
bats_require_minimum_version 1.5.0

corgi="$CORGI_BIN/corgi"

# One store for the file; a test that changes it works on a copy.
setup_file() {
    "$CORGI_BIN/corgi" bench store --dir "$BATS_FILE_TMPDIR" --seconds 0.3 --rate 100 --keep
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cp "$BATS_FILE_TMPDIR/bench.db" store.db
}

@test "a sound store is said to be sound" {
    run "$corgi" store check store.db
    [ "$status" -eq 0 ]
    [[ $output == *"sound; schema: "* ]]
    run "$corgi" store check --quick --json store.db
    [ "$status" -eq 0 ]
    [ "$(jq '.sound and .jobs > 0 and .jobs == .transitions and .findings == []' <<< "$output")" = true ]
}

@test "a store that contradicts itself is named with its findings" {
    sqlite3 store.db "UPDATE jobs SET state = 'done', ended_s = 1 WHERE id = 2"
    run --separate-stderr "$corgi" store check store.db
    [ "$status" -eq 1 ]
    [ "$output" = "job 2 is done, but its last transition leads to waiting" ]
    [[ $stderr == *"not sound (findings: 1)"* ]]
    run --separate-stderr "$corgi" store check --json store.db
    [ "$status" -eq 1 ]
    [ "$(jq -r '.sound, (.findings | length)' <<< "$output" | xargs)" = "false 1" ]
}

@test "a file that is no store is refused" {
    head -c 20000 /dev/zero | tr '\0' x > not.db
    run "$corgi" store check not.db
    [ "$status" -eq 1 ]
    [[ $output == *"not.db is damaged or not a store"* ]]
    sqlite3 other.db 'CREATE TABLE t (x)'
    run "$corgi" store check other.db
    [ "$status" -eq 1 ]
    [[ $output == *"another program"* ]]
    run "$corgi" store check missing.db
    [ "$status" -eq 1 ]
    [[ $output == *"missing.db"*"No such file"* ]]
    [ ! -e missing.db ]
}

@test "a backup holds the same and replaces nothing unasked" {
    run "$corgi" store backup store.db copy.db
    [ "$status" -eq 0 ]
    "$corgi" store check copy.db
    "$corgi" store export store.db > one.jsonl
    "$corgi" store export copy.db > two.jsonl
    cmp one.jsonl two.jsonl
    [ "$(stat -c %a copy.db)" = 600 ]
    run "$corgi" store backup store.db copy.db
    [ "$status" -eq 1 ]
    [[ $output == *"--force"* ]]
    "$corgi" store backup --force store.db copy.db
    run "$corgi" store backup store.db nowhere/copy.db
    [ "$status" -eq 1 ]
    [ "$(find . -name '*.write*' | wc -l)" -eq 0 ]
}

@test "an export is a line a row, as JSON or as CSV" {
    "$corgi" store export store.db --table events > events.jsonl
    [ "$(jq -s 'length' events.jsonl)" = "$(sqlite3 store.db 'SELECT count(*) FROM events')" ]
    [ "$(jq -r '.data.state' events.jsonl | sort -u)" = waiting ]
    "$corgi" store export store.db --table events --format csv --out events.csv
    [ "$(head -1 events.csv)" = id,at_s,kind,job,user,data ]
    [ "$(wc -l < events.csv)" -eq $(($(wc -l < events.jsonl) + 1)) ]
}

@test "an export of jobs holds no environments unless asked" {
    "$corgi" store export store.db | head -1 > job.json
    [ "$(jq -c '.argv, .env' job.json | xargs)" = "[python,train.py,--epochs,90] null" ]
    "$corgi" store export --secrets store.db | head -1 > job.json
    [ "$(jq -r '.env[0]' job.json)" = HOME=/home/user ]
}

@test "an unknown table is answered with those there are" {
    run "$corgi" store export store.db --table sqlite_schema
    [ "$status" -eq 1 ]
    [[ $output == *"transitions"* ]]
}

@test "wrong use has status 2" {
    for args in "" "check" "backup store.db" "export store.db --format xml"; do
        # shellcheck disable=SC2086 # words on purpose
        run "$corgi" store $args
        [ "$status" -eq 2 ]
    done
}
