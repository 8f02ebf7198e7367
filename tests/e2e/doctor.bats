#!/usr/bin/env bats
# corgi doctor: what it says of a sound installation, and of each way to break one.

load ../support/corgid.bash

setup() { corgid_folder; }
teardown() { corgid_clean; }

# doctor: $output is its JSON
doctor() {
    run env CORGI_SOCKET="$CORGID_SOCKET" timeout 60 "$CORGI_BIN/corgi" doctor --json \
        --config "$CORGID_DIR/c.yaml"
    echo "$output"
}

# says CHECK STATE WORDS: one finding of it holds the words
says() {
    jq -e --arg check "$1" --arg state "$2" --arg words "$3" 'any(.checks[];
        .check == $check and .state == $state and (.text | contains($words)))' <<< "$output"
}

@test "a sound installation: status 0, and every check has a line" {
    corgid_start
    doctor
    [ "$status" -eq 0 ]
    jq -e '.sound and all(.checks[]; .state == "ok" or (.state == "note" and .fix != null))' <<< "$output"
    for check in programs config daemon version role state space store; do
        says "$check" ok ""
    done
    says store ok "schema"
    run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" doctor --config "$CORGID_DIR/c.yaml"
    [ "$status" -eq 0 ]
    [[ $output == "check "*"daemon "*"ready at"* ]]
}

@test "no daemon: a problem, and how to start it" {
    doctor
    [ "$status" -eq 1 ]
    says daemon problem "no daemon listens"
    jq -e '(.sound | not) and any(.checks[]; .check == "daemon" and (.fix | contains("systemctl start")))' <<< "$output"
}

@test "a config with a mistake: the line is named, the rest is still checked" {
    corgid_start
    echo 'engin: sim' >> "$CORGID_DIR/c.yaml"
    doctor
    [ "$status" -eq 1 ]
    says config problem "engin"
    says daemon ok ready
}

@test "a folder that others may write to, a damaged store" {
    corgid_start
    chmod 777 "$CORGID_DIR/state"
    doctor
    [ "$status" -eq 1 ]
    says state problem "may be written by others (mode 777)"
    chmod 700 "$CORGID_DIR/state"
    doctor
    [ "$status" -eq 0 ]
    api POST /v1/jobs '{"name": "one", "command": ["true"]}' > /dev/null
    corgid_stop
    sqlite3 "$CORGID_DIR/state/corgi.db" 'PRAGMA foreign_keys = off; DELETE FROM jobs'
    doctor
    [ "$status" -eq 1 ]
    says store problem ""
    says daemon problem "no daemon"
}

@test "engine local without a GPU that the config wants" {
    corgid_start
    ! nvidia-smi > /dev/null 2>&1 || skip "this machine has GPUs"
    sed -i '1i engine: local\nlocal: {gpus: true}' "$CORGID_DIR/c.yaml"
    doctor
    [ "$status" -eq 1 ]
    says telemetry problem "local.gpus"
}

@test "a token that is not known: a problem with the role" {
    printf 'state: %s/state\nlisten: {socket: %s, tcp: "127.0.0.1:0"}\n' "$CORGID_DIR" "$CORGID_SOCKET" > "$CORGID_DIR/c.yaml"
    corgid_start
    port=$(ss -tlnp | sed -n "s/.*127.0.0.1:\([0-9]*\) .*pid=$CORGID_PID,.*/\1/p")
    [ -n "$port" ]
    CORGI_TOKEN=wrong run timeout 60 "$CORGI_BIN/corgi" doctor --json --url "http://127.0.0.1:$port" --config "$CORGID_DIR/c.yaml"
    echo "$output"
    [ "$status" -eq 1 ]
    says role problem "token"
}
