#!/usr/bin/env bats
# A real server on the local engine: asked little or much it stays where it is and keeps
# its promise, what it could do is known before it has to, and asked for more it gets help.
#
# CORGI_SERVICES_S is how long each rate is asked for; 300 is the long version.

bats_require_minimum_version 1.5.0
load local_daemon.bash

ASKED_S=${CORGI_SERVICES_S:-25}

# Processor seconds of one answer: a server of its own is asked as much as it can.
cost_of_answer() {
    local dir=$1 server before after n0 n1

    "$CORGI_BIN/example-serve" --size "$SIZE" --port-file "$dir/cost.port" \
        > "$dir/cost.log" 2>&1 3>&- &
    server=$!
    await_file "$dir/cost.port" 10
    "$CORGI_BIN/example-load" --port "$(< "$dir/cost.port")" --rate 50 --seconds 2 > /dev/null
    n0=$(answers_of "$(< "$dir/cost.port")")
    before=$(ticks_of "$server")
    "$CORGI_BIN/example-load" --port "$(< "$dir/cost.port")" --rate 5000 --seconds 5 > /dev/null
    after=$(ticks_of "$server")
    n1=$(answers_of "$(< "$dir/cost.port")")
    kill "$server"
    wait "$server" || true
    python3 -c "print(($after - $before) / $(getconf CLK_TCK) / ($n1 - $n0))"
}

ticks_of() { awk '{print $14 + $15}' "/proc/$1/stat"; }

# answers_of PORT
answers_of() {
    curl -sS --max-time 10 "http://127.0.0.1:$1/metrics" |
        awk '/^http_requests_total/ {print int($2)}'
}

# Two devices of one type, on each of which the server can answer about 500 a second.
setup_file() {
    DIR=$(mktemp -d /tmp/corgi-services-XXXXXX)
    SIZE=800 # shorter answers cost a good part more when the server sleeps between them
    PORT=$((10 * (2000 + RANDOM % 1200) + 1)) # below those of clients; 2: the second replica's
    export DIR SIZE PORT
    local quota last=$(($(nproc) - 1))

    quota=$(python3 -c "print(round(min(0.9, max(0.02, 500 * $(cost_of_answer "$DIR"))), 3))")
    cat > "$DIR/corgi.yaml" << YAML
engine: local
state: $DIR/state
listen: {socket: $DIR/corgi.sock}
planner: {gap: 0.2s, every: 1s}
local:
  gpus: false
  memory_cgroups: false
  window: 2s
  power_every: 1s
  output_mb: 2
  cpus:
    - {type: cpu-serve, cores: "0", quota: $quota}
    - {type: cpu-serve, cores: "$last", quota: $quota}
YAML
    echo "$quota" > "$DIR/quota"
    start_daemon "$DIR"
}

teardown_file() {
    stop_daemon "$DIR" || true
    stop_daemon "$DIR/two" || true
    for pid in $(processes_of "$DIR") $(processes_of "$DIR/two"); do
        kill -KILL "$pid" || true
    done
    rm -rf "$DIR"
}

# serve NAME RATE LATENCY MORE: submits, waits until it answers, prints its number
serve() {
    local id

    id=$(submit_job "$DIR" "$1" "\"kind\": \"inference\", \"descriptor\": {\"family\": \"serve\"},
        \"metrics_url\": \"http://127.0.0.1:${PORT%1}{replica}/metrics\",
        \"need\": {\"kind\": \"service\", \"rate\": $2, \"latency_s\": $3} ${4:+, $4}" \
        "exec $CORGI_BIN/example-serve --size $SIZE --port ${PORT%1}\${CORGI_REPLICA:-1}" |
        jq -r .job.id)
    [ "$id" -gt 0 ]
    await_state "$DIR" "$id" running 30 >&2
    for _ in $(seq 100); do
        answers_of "$PORT" > /dev/null 2>&1 && break
        sleep 0.1
    done
    echo "$id"
}

# ask RATE SECONDS: what example-load says
ask() {
    "$CORGI_BIN/example-load" --port "$PORT" --rate "$1" --seconds "$2" 2>&1
}

# all_answered LINE
all_answered() {
    python3 - "$1" << 'PYTHON'
import re, sys
asked, answered, failed = map(int, re.search(
    r"asked (\d+), answered (\d+), failed (\d+)", sys.argv[1]).groups())
assert asked > 0 and answered == asked and failed == 0, sys.argv[1]
PYTHON
}

# Promises that were kept of those that were given, as seconds: 1 when none was broken.
kept_share() {
    daemon_get "$DIR" /v1/summary | jq '.promises.kept_share // 1'
}

# stayed JOB: it was never moved or started again, and no decision but its start is there
stayed() {
    daemon_get "$DIR" "/v1/jobs/$1" | jq -e '.moves == 0 and .restarts == 0' ||
        { daemon_get "$DIR" "/v1/jobs/$1"; return 1; }
    daemon_get "$DIR" "/v1/decisions?job=$1" |
        jq -e '[.decisions[] | select(.kind != "start" and .kind != "cap")] == []' ||
        { daemon_get "$DIR" "/v1/decisions?job=$1"; return 1; }
}

@test "asked 1, 30 and 300 requests/s a service stays, answers all and keeps its promise" {
    id=$(serve web 300 0.5)
    echo "$id" > "$DIR/web"
    for rate in 1 30 300; do
        run ask "$rate" "$ASKED_S"
        echo "$rate: $output"
        all_answered "$output"
        stayed "$id"
        [ "$(kept_share)" = 1 ]
        [ "$(daemon_get "$DIR" /v1/summary | jq .promises.broken)" = 0 ]
    done
    daemon_get "$DIR" "/v1/jobs/$id" | jq -e '.latency_s > 0 and .latency_s < 0.5'
}

# The server's own count of a run in which it always has more than it can do, and the
# share of its quota that the machine gave it meanwhile.
saturated() {
    local server first second begin end before after

    server=$(pgrep -n -f "example-serve --size $SIZE --port $PORT\$")
    ask 2000 9 > "$DIR/saturated" &
    sleep 2.5
    first=$(answers_of "$PORT") begin=$EPOCHREALTIME before=$(ticks_of "$server")
    sleep 6
    second=$(answers_of "$PORT") end=$EPOCHREALTIME after=$(ticks_of "$server")
    wait $!
    python3 -c "
seconds = $end - $begin
print(($second - $first) / seconds,
      ($after - $before) / $(getconf CLK_TCK) / seconds / $(< "$DIR/quota"))"
}

@test "what it can do was known before it had to: the interval holds a saturating run" {
    id=$(< "$DIR/web")
    before=$(daemon_get "$DIR" "/v1/estimates?job=$id&beside=none" | jq -c '.cells[0].rate')
    for _ in 1 2 3 4 5; do
        read -r measured given <<< "$(saturated)"
        echo "# estimated $before, saturated $measured with $given of its quota" >&3
        python3 -c "exit($given < 0.93)" && break
    done
    python3 -c "exit($given < 0.93)" || skip "the machine is too busy to give a device its quota"
    jq -e --argjson m "$measured" '.source == "measured" and .low <= $m and $m <= .high' <<< "$before"
}

# helped JOB: another place, or a second replica that runs
helped() {
    daemon_get "$DIR" "/v1/jobs/$1" | jq -e '.moves > 0' > /dev/null ||
        daemon_get "$DIR" "/v1/jobs?state=active" | jq -e --argjson id "$1" '
            any(.jobs[]; .replica_of == $id and .state == "running")' > /dev/null
}

@test "asked for more than it can, a service gets a replica or a place in a minute, and why says so" {
    daemon_post "$DIR" "/v1/jobs/$(< "$DIR/web")/cancel"
    await_state "$DIR" "$(< "$DIR/web")" cancelled 30
    id=$(serve wide 600 5 '"max_replicas": 2')
    ask 20 8
    run -1 helped "$id" # one place is enough for that
    ask 1000 60 > "$DIR/wide" &
    load=$!
    for ((second = 0, begin = SECONDS; second < 60; second = SECONDS - begin)); do
        helped "$id" && break
        sleep 0.5
    done
    kill "$load" 2> /dev/null || true
    wait "$load" || true
    daemon_get "$DIR" "/v1/jobs/$id"
    helped "$id"
    said="requests/s are asked for: 2 replicas|answers come later than .* s: 2 replicas|to keep its [0-9.]+/s: "
    daemon_get "$DIR" "/v1/decisions?job=$id" | jq -e --arg said "$said" '
        any(.decisions[]; (.kind == "scale" or .kind == "move") and (.reason | test($said)))' ||
        { daemon_get "$DIR" "/v1/decisions?job=$id"; return 1; }
    run -0 env CORGI_SOCKET="$DIR/corgi.sock" "$CORGI_BIN/corgi" why "$id" --limit 5
    echo "$output"
    echo "# helped after $second s: $(grep -E "$said" <<< "$output")" >&3
    [[ $output =~ $said ]]
    second=$(daemon_get "$DIR" "/v1/jobs?state=active" | jq --argjson id "$id" '
        .jobs[] | select(.replica_of == $id and .state == "running") | .id')
    [ -n "$second" ] || return 0 # another place was enough
    PORT=$((PORT + 1)) ask 40 12 # of the second one alone: it has a page of its own
    asked=$(daemon_get "$DIR" "/v1/jobs?state=active" | jq -c '[.jobs[] | {id, demand_rate}]')
    echo "# asked 40 requests/s of the second replica, job $second: $asked" >&3
    jq -e --argjson two "$second" '
        any(.[]; .id == $two and .demand_rate > 20 and .demand_rate < 80)' <<< "$asked"
}

# What its thread could do at most is known from what one answer costs.
@test "of several cores a server that works on one request at a time is not believed to use more than one" {
    (($(nproc) > 1)) || skip "this machine has one core"
    local two=$DIR/two cost

    mkdir "$two"
    sed -e "s|$DIR/|$two/|" -e '/cpus:/,$d' "$DIR/corgi.yaml" > "$two/corgi.yaml"
    echo '  cpus: [{type: cpu-two, cores: "0-1", quota: 1}]' >> "$two/corgi.yaml"
    cost=$(cost_of_answer "$two")
    start_daemon "$two"
    id=$(DIR=$two PORT=$((PORT + 10)) serve lone 100 0.5)
    PORT=$((PORT + 10)) ask 100 20
    estimate=$(daemon_get "$two" "/v1/estimates?job=$id&beside=none" | jq -c '.cells[0].rate')
    daemon_post "$two" "/v1/jobs/$id/cancel" > /dev/null
    await_state "$two" "$id" cancelled 30
    stop_daemon "$two"
    echo "# one answer takes $cost s of a processor, estimated $estimate" >&3
    jq -e --argjson c "$cost" '.source == "measured" and .value < 1.5 / $c' <<< "$estimate"
}
