#!/usr/bin/env bats
# Services: replicas follow what is asked of them, in a real corgid with a simulated
# cluster whose requests come as the job's environment says.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {speed: 600, measure: 1m}/' "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

# A service: RATE DEMAND [MORE-MEMBERS]
serve() {
    api POST /v1/jobs "{\"name\": \"web\", \"kind\": \"inference\",
        \"descriptor\": {\"family\": \"web\"},
        \"need\": {\"kind\": \"service\", \"rate\": $1}, \"max_replicas\": 4,
        \"environment\": {\"CORGI_SIM_DEMAND\": \"$2\"} ${3:+, $3}}" | field job.id
}

wait_replicas() { # ID NUMBER
    local now
    for _ in $(seq 300); do
        now=$(api GET "/v1/jobs/$1" | field replicas)
        [ "$now" = "$2" ] && return 0
        sleep 0.1
    done
    echo "job $1 has $now replicas, not $2"
    api GET "/v1/jobs/$1"
    tail -5 "$CORGID_DIR/log"
    return 1
}

@test "replicas follow the requests up and down again" {
    corgid_start
    id=$(serve 10 "5@0,35@1200,5@4800")
    wait_replicas "$id" 1
    wait_replicas "$id" 4
    run api GET "/v1/jobs?name=web/2"
    [ "$(field jobs.0.replica_of <<< "$output")" = "$id" ]
    wait_replicas "$id" 1
    [ "$(api GET "/v1/jobs/$id" | field state)" = running ]
    run api GET "/v1/decisions?job=$id"
    [[ $output == *'"kind":"scale"'*'requests/s are asked for: 1 replica is enough'* ]]
}

@test "a service goes to zero only if it may, and comes back with the requests" {
    corgid_start
    stays=$(serve 10 "5@0,0@300")
    goes=$(serve 10 "5@0,0@300,5@4000" '"scale_to_zero": true')
    wait_state "$goes" held
    run api GET "/v1/jobs/$goes"
    [ "$(field reason_code <<< "$output")" = scaled_to_zero ]
    [ "$(field replicas <<< "$output")" = 0 ]
    wait_state "$goes" running
    [ "$(api GET "/v1/jobs/$stays" | field restarts)" = 0 ]
    [ "$(api GET "/v1/jobs/$stays" | field state)" = running ]
}

@test "one that is asked for less than was promised does not fall short" {
    corgid_start
    id=$(serve 10 "5@0")
    for _ in $(seq 300); do
        run api GET "/v1/jobs/$id"
        jq -e '.promise == "given" and .rate > 0' <<< "$output" > /dev/null && break
        sleep 0.1
    done
    echo "$output"
    jq -e '.promised_rate == 10 and .rate < 6 and .short_since_s == null' <<< "$output"
    [ "$(api GET /v1/summary | field promises.broken)" = 0 ]
}

@test "one that is at zero wakes when its front door tells of requests" {
    corgid_start
    id=$(serve 10 "5@0,0@300" '"scale_to_zero": true')
    wait_state "$id" held
    told() {
        api POST /v1/measurements "{\"job\": $id, \"samples\":
            [{\"at_s\": 1, \"window_s\": 1, \"demand_rate\": $1}]}" | field accepted
    }
    [ "$(told 0)" = 0 ]
    [ "$(api GET "/v1/jobs/$id" | field state)" = held ]
    [ "$(told 3)" = 1 ]
    wait_state "$id" running
}

# What services of the family can do is known once one of them was asked for more.
known_capacity() {
    known_kind '"kind": "inference", "descriptor": {"family": "web"},
        "environment": {"CORGI_SIM_DEMAND": "1e6@0"}' '{"kind": "service", "rate": 1e-6}'
}

@test "more than one GPU can do is promised with several replicas" {
    corgid_start
    known_capacity
    one=$(api POST /v1/quotes '{"job": {"kind": "inference", "descriptor": {"family": "web"},
        "need": {"kind": "service", "rate": 1e8}}}' | field quote.counter_offers.0.rate)
    twice=$(python3 -c "print($one * 1.8)")
    ask="\"kind\": \"inference\", \"descriptor\": {\"family\": \"web\"},
        \"need\": {\"kind\": \"service\", \"rate\": $twice}"
    [ "$(api POST /v1/quotes "{\"job\": {$ask}}" | field quote.verdict)" = counter ]
    run api POST /v1/jobs "{$ask, \"max_replicas\": 3}"
    [ "$(field quote.replicas <<< "$output")" = 2 ]
    python3 -c 'import json, sys
a = json.loads(sys.argv[1])
assert abs(a["quote"]["promised_rate"] - a["job"]["need"]["rate"]) < 1e-6 * a["job"]["need"]["rate"]' "$output"
}

@test "the end of a service is the end of its replicas" {
    corgid_start
    id=$(serve 10 "35@0")
    wait_replicas "$id" 4
    api POST "/v1/jobs/$id/cancel" > /dev/null
    for _ in $(seq 100); do
        [ "$(api GET '/v1/jobs?state=active' | field total)" = 0 ] && break
        sleep 0.1
    done
    [ "$(api GET '/v1/jobs?state=active' | field total)" = 0 ]
    run api GET '/v1/jobs?name=web/3'
    [[ $output == *"the service it belongs to has ended"* ]]
}

@test "replicas are known again after kill -9" {
    corgid_start
    id=$(serve 10 "35@0,5@9000")
    wait_replicas "$id" 4
    corgid_kill
    corgid_start
    wait_replicas "$id" 4
    wait_replicas "$id" 1
}

@test "answers that come too late are noticed, and helped by another replica or the guard" {
    corgid_start
    ask='"kind": "inference", "descriptor": {"family": "web"}'
    known_capacity
    capacity=$(api POST /v1/quotes "{\"job\": {$ask, \"need\": {\"kind\": \"service\",
        \"rate\": 0.01}}}" | field quote.rate.value)
    # As much as can be promised of a service like none before.
    part=$(python3 -c "print(0.3 * $capacity)")
    slow="\"need\": {\"kind\": \"service\", \"rate\": $part, \"latency_s\": 30},
        \"environment\": {\"CORGI_SIM_DEMAND\": \"$part@0\", \"CORGI_SIM_SPEED\": \"0.18\",
        \"CORGI_SIM_SPEED_AFTER\": \"1800\"}"
    one=$(api POST /v1/jobs "{$ask, $slow}" | field job.id)
    more=$(api POST /v1/jobs "{$ask, $slow, \"max_replicas\": 4}" | field job.id)
    for _ in $(seq 200); do
        api GET "/v1/decisions?job=$one" > "$CORGID_DIR/one"
        api GET "/v1/decisions?job=$more" > "$CORGID_DIR/more"
        grep -q '"kind":"guard"' "$CORGID_DIR/one" &&
            grep -q '"kind":"scale"' "$CORGID_DIR/more" && break
        sleep 0.1
    done
    grep -q 'later than the promised' "$CORGID_DIR/one"
    grep -q '"kind":"scale"' "$CORGID_DIR/more"
    # How late is remembered, also after an end that nobody expected.
    sleep 0.3
    corgid_kill
    corgid_start
    for step in '' '?step_s=600'; do
        api GET "/v1/jobs/$one/measurements$step" > "$CORGID_DIR/points"
        python3 -c 'import json, sys
late = [p for p in json.load(open(sys.argv[1]))["points"] if p["latency_s"]]
assert late and all(0 < p["latency_s"] <= p["latency_high_s"] for p in late), late
assert max(p["latency_high_s"] for p in late) > 30, late' "$CORGID_DIR/points"
    done
}

@test "replicas are for services, and said so by field" {
    corgid_start
    run api POST /v1/jobs '{"total_steps": 10, "max_replicas": 2}'
    [ "$(field error.field <<< "$output")" = max_replicas ]
    run api POST /v1/jobs '{"total_steps": 10, "scale_to_zero": true}'
    [ "$(field error.field <<< "$output")" = scale_to_zero ]
    [ "$(api GET '/v1/jobs?state=active' | field total)" = 0 ]
}
