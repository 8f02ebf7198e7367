#!/usr/bin/env bats
# The example jobs under corgi-probe: what is measured from outside agrees with what they
# count themselves, whichever way they report.

bats_require_minimum_version 1.5.0

setup() {
    bin="$CORGI_BIN"
    dir=$(mktemp -d)
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

value() { # file key
    sed -n "s/.*\\b$2=\\([^ ]*\\).*/\\1/p" "$1" | tail -1
}

await() { # seconds command...
    local until=$((SECONDS + $1))
    shift
    until "$@" 2> /dev/null; do
        ((SECONDS < until)) || return 1
        sleep 0.05
    done
}

# Two numbers within 5 % of each other.
assert_near() { # measured true
    echo "measured $1, true $2"
    awk -v m="$1" -v t="$2" 'BEGIN { exit !(t > 0 && m / t > 0.95 && m / t < 1.05) }'
}

listen() {
    python3 - "$dir/reports" "$dir/heard" << 'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], "a", buffering=1) as f:
    while True:
        f.write(s.recv(4096).decode() + "\n")
PY
    started "$!"
    await 10 test -S "$dir/reports"
}

# Run an example and compare its own count with what was measured.
check() { # name source probe-option... -- example-option...
    local name=$1 source=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    listen
    "$bin/corgi-probe" --job 1 --dir "$dir/job" --window 1 --report "unix:$dir/reports" \
        "${options[@]}" -- "$bin/example-$name" --seconds 7 --count "$dir/count" "$@" \
        > "$dir/out" 2>&1
    await 10 grep -q kind=ended "$dir/heard"
    cat "$dir/heard" "$dir/job/status" "$dir/count"
    grep -q "kind=rate .*source=$source" "$dir/heard"
}

@test "train: heartbeat" {
    check train heartbeat --
    assert_near "$(value "$dir/job/status" rate)" "$(value "$dir/count" rate)"
    assert_near "$(value "$dir/job/status" steps)" "$(value "$dir/count" steps)"
}

@test "matrix: a progress bar" {
    check matrix log -- --size 200
    assert_near "$(value "$dir/job/status" rate)" "$(value "$dir/count" rate)"
    assert_near "$(value "$dir/job/status" steps)" "$(value "$dir/count" steps)"
}

@test "stream: a progress file" {
    check stream progress --progress "$dir/progress" -- --progress "$dir/progress" --size 4
    assert_near "$(value "$dir/job/status" rate)" "$(value "$dir/count" rate)"
    assert_near "$(value "$dir/job/status" steps)" "$(value "$dir/count" steps)"
}

@test "filter: a log with steps/s" {
    check filter log -- --size 128
    assert_near "$(value "$dir/job/status" rate)" "$(value "$dir/count" rate)"
}

@test "silent: activity is all there is" {
    check silent activity --
    awk -v r="$(value "$dir/job/status" rate)" 'BEGIN { exit !(r > 0.01 && r < 1.2) }'
}

@test "serve: a Prometheus page, with the load asked of it" {
    local port=$((20000 + $$ % 20000))
    listen
    "$bin/corgi-probe" --job 1 --dir "$dir/job" --window 1 --report "unix:$dir/reports" \
        --service --metrics-url "http://127.0.0.1:$port/metrics" -- \
        "$bin/example-serve" --port "$port" --port-file "$dir/port" --seconds 9 \
        --count "$dir/count" &
    started "$!"
    local me=$!
    await 10 test -s "$dir/port"
    "$bin/example-load" --port "$port" --rate 60 --seconds 7 | tee "$dir/load"
    wait "$me"
    await 10 grep -q kind=ended "$dir/heard"
    cat "$dir/heard" "$dir/count"
    grep -q "kind=rate .*source=prometheus" "$dir/heard"
    grep -q "kind=demand .*source=prometheus" "$dir/heard"
    assert_near "$(value "$dir/job/status" steps)" "$(value "$dir/count" steps)"
    # In the middle of the run the rate is the load's.
    assert_near "$(grep kind=rate "$dir/heard" | sed -n 5p | sed 's/.* rate=\([^ ]*\).*/\1/')" 60
}

@test "examples keep their place at SIGTERM and go on from there" {
    local name code me
    for name in train matrix stream filter silent; do
        code=0
        "$bin/example-$name" --size 50 --steps 100000000 --checkpoint "$dir/$name" \
            --count "$dir/count" > /dev/null 2>&1 &
        me=$!
        started "$me"
        sleep 2 # until its first steps are done, on a busy machine too
        kill -TERM "$me"
        wait "$me" || code=$?
        [ "$code" -eq 143 ]
        local before
        before=$(sed -n 's/^step //p' "$dir/$name")
        [ "$before" -gt 0 ]
        [ "$(value "$dir/count" steps)" -eq "$before" ]
        "$bin/example-$name" --size 50 --steps $((before + 5)) --checkpoint "$dir/$name" \
            --count "$dir/count" > /dev/null 2>&1
        [ "$(value "$dir/count" steps)" -eq 5 ]
        [ ! -e "$dir/$name" ]
    done
}
