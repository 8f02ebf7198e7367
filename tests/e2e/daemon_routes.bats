#!/usr/bin/env bats
# Every route of docs/openapi.yaml on a real daemon: what it does, read back another way.
#
# The last case compares what the cases before it asked for with the document, so that a
# route without a case fails.

load ../support/corgid.bash

setup_file() { : > "$BATS_FILE_TMPDIR/asked"; }
setup() { corgid_folder; }
teardown() { corgid_clean; }

# Ask, remember that the route was asked for when the answer is not an error, and set
# $code and $answer.
ask() { # METHOD PATH [BODY [CURL-OPTION...]]
    answer=$(api "$1" "$2" "${3:-}" "${@:4}" -w '\n%{http_code}')
    code=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    case $code in 2*) echo "$1 ${2%%\?*}" >> "$BATS_FILE_TMPDIR/asked" ;; esac
}

# The last answer had this status, and this jq expression holds for it.
answered() { # CODE [EXPRESSION]
    echo "$code $answer"
    [ "$code" = "$1" ] && jq -e "${2:-true}" <<< "$answer" > /dev/null
}

# GET PATH, until the expression holds for the answer.
await() { # PATH EXPRESSION
    for _ in $(seq 300); do
        ask GET "$1"
        jq -e "$2" <<< "$answer" > /dev/null && return 0
        sleep 0.1
    done
    answered "$code" "$2"
}

submit() { api POST /v1/jobs "$1" | field job.id; }

# A daemon whose engine measures nothing itself for a simulated day.
start_unmeasured() {
    sed -i 's/^sim:.*/sim: {speed: 60, measure: 24h}/' "$CORGID_DIR/c.yaml"
    corgid_start
}

start_with_tcp() {
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    sed -i "s|^listen:.*|listen: {socket: $CORGID_SOCKET, tcp: \"127.0.0.1:$port\"}|" \
        "$CORGID_DIR/c.yaml"
    corgid_start
}

with_token() { # TOKEN METHOD PATH [BODY]: over TCP, sets $code and $answer
    answer=$(curl -s --max-time 20 -X "$2" -H "Authorization: Bearer $1" \
        ${4:+-H 'Content-Type: application/json' -d "$4"} \
        "http://127.0.0.1:$port$3" -w '\n%{http_code}')
    code=${answer##*$'\n'}
    answer=${answer%$'\n'*}
}

@test "reports: with the job's token, and with no other; read back as measurements" {
    sed -i 's/^sim:.*/sim: {speed: 1, measure: 24h}/' "$CORGID_DIR/c.yaml"
    start_with_tcp
    id=$(submit '{"total_steps": 1e9, "types": ["k80"], "move": false}')
    wait_state "$id" running
    ask POST "/v1/jobs/$id/token" '{"expires_in_s": 60}'
    answered 201 ".job == $id and (.token | startswith(\"corgi-job-$id-\"))"
    token=$(field token <<< "$answer")
    sleep 1
    at=$(api GET /v1/version | field now_s)
    batch="{\"job\": $id, \"run\": \"$(printf '0%.0s' {1..32})\", \"node\": \"n1\", \"first\": 1, \"reports\":
        [\"corgi=1 kind=rate job=$id attempt=1 at=$at window=0.5 rate=12.5 source=log confidence=0.8\"]}"
    with_token "$token" POST /v1/reports "$batch"
    answered 200 '.taken == 1 and .next == 2'
    # The job's owner may report as well: it is known already.
    ask POST /v1/reports "$batch"
    answered 200 '.known == 1'
    await "/v1/jobs/$id/measurements" '[.points[] | select(.rate == 12.5)] | length == 1'
    with_token "$token" GET "/v1/jobs/$id"
    answered 403
}

@test "health, readiness, version and metrics tell of this daemon" {
    corgid_start
    ask GET /healthz
    answered 200 '.status == "ok"'
    ask GET /readyz
    answered 200 '.status == "ready"'
    ask GET /v1/version
    answered 200 '.engine == "sim" and .speed == 600 and .now_s > .started_s'
    ask GET /metrics
    [[ $answer == *'corgi_jobs{state="waiting"} 0'* ]]
    submit '{"hold": true}' > /dev/null
    ask GET /metrics
    [[ $answer == *'corgi_jobs{state="held"} 1'* ]]
}

@test "the dashboard's page and files need no token and ask for nothing of others" {
    start_with_tcp
    ask GET /
    [[ $code == 200 && $answer == *'<script src="/ui/app.js">'* ]]
    ask GET /ui/app.js
    [ "$code" = 200 ]
    run curl -s -o /dev/null -w '%{http_code} %{content_type}' "http://127.0.0.1:$port/ui/app.css"
    [ "$output" = "200 text/css; charset=utf-8" ]
}

@test "a job keeps what it was quoted first beside the promise it has now" {
    corgid_start
    id=$(submit '{"name": "one", "total_steps": 1e9, "need": {"kind": "rate", "rate": 1e-6}}')
    ask GET "/v1/jobs/$id"
    answered 200 '.first_quote.verdict == "unpromised"'
    first=$(jq .first_quote.rate.value <<< "$answer")
    await "/v1/jobs/$id" '.promise == "given"'
    answered 200 ".quote.verdict == \"accepted\" and .first_quote.verdict == \"unpromised\"
        and .first_quote.rate.value == $first"
    api POST "/v1/jobs/$id/cancel" > /dev/null
    await "/v1/jobs/$id" '.state == "cancelled" and .first_quote.verdict == "unpromised"'
}

@test "trends: what the cluster draws by type, minute by minute, and their mean" {
    corgid_start
    submit '{"name": "one", "total_steps": 1e9}' > /dev/null
    await /v1/trends '[.points[] | select(.running == 1 and .coverage != null)] | length > 3'
    answered 200 '.step_s == 60 and .types == ["k80", "p100-16", "v100-16"]
        and ([.points[] | ((.host_watts + (.type_watts | add) - .watts) | fabs) < 1e-6] | all)
        and ([.points[1:], .points[:-1]] | transpose | all(.[0].at_s - .[1].at_s >= 60))'
    ask GET '/v1/trends?step_s=600'
    answered 200 '.step_s == 600 and (.points | length) > 0 and .points[-1].running == 1'
    last=$(jq '.points[-1].at_s' <<< "$answer")
    ask GET "/v1/trends?from_s=$(jq -n "$last + 1e6")"
    answered 200 '.points == []'
}

@test "audit: who changed what, newest first, page by page" {
    corgid_start
    ask POST /v1/devices/0/drain '{"reason": "a test"}'
    ask POST /v1/devices/0/resume
    await '/v1/audit?limit=1' '.entries[0].action == "resume_device"'
    answered 200 '(.entries | length) == 1 and .entries[0].outcome == "done"
        and .entries[0].target == "/v1/devices/0/resume" and .next != null'
    ask GET "/v1/audit?limit=5&after=$(jq -r .next <<< "$answer")"
    answered 200 '[.entries[].action] == ["drain_device"] and .next == null'
}

@test "whoami: the kernel's word on the socket, the token's over TCP" {
    start_with_tcp
    ask GET /v1/whoami
    answered 200 ".user == \"$(id -un)\" and .uid == $(id -u) and .role == \"operator\"
        and .local and .token == null"
    ask POST /v1/tokens "{\"user\": \"$(id -un)\", \"role\": \"viewer\", \"note\": \"wall\"}"
    answered 201 '.role == "viewer"'
    secret=$(field token <<< "$answer") id=$(field id <<< "$answer")
    with_token "$secret" GET /v1/whoami
    answered 200 ".user == \"$(id -un)\" and .role == \"viewer\" and (.local | not)
        and .token == \"$id\""
    with_token "$secret" POST /v1/jobs '{}'
    answered 403
    with_token "corgi-$id-wrong" GET /v1/whoami
    answered 401
}

@test "a revoked token opens nothing any more, after a restart neither" {
    start_with_tcp
    ask POST /v1/tokens "{\"user\": \"$(id -un)\", \"role\": \"user\"}"
    secret=$(field token <<< "$answer") id=$(field id <<< "$answer")
    kept=$(api POST /v1/tokens "{\"user\": \"$(id -un)\", \"role\": \"user\"}" | field token)
    with_token "$secret" GET /v1/summary
    answered 200
    ask GET /v1/tokens
    answered 200 ".tokens | length == 2 and any(.id == \"$id\")"
    [[ $answer != *"$secret"* ]]
    ask DELETE "/v1/tokens/$id"
    [ "$code" = 204 ]
    with_token "$secret" GET /v1/summary
    answered 401
    with_token "$kept" GET /v1/summary
    answered 200
    ask GET /v1/tokens
    answered 200 ".tokens | map(.id) | index(\"$id\") == null"
    ask DELETE "/v1/tokens/$id"
    answered 404
    corgid_kill
    corgid_start
    with_token "$secret" GET /v1/summary
    answered 401
    with_token "$kept" GET /v1/summary
    answered 200
}

@test "a drained node takes nothing until it is resumed" {
    corgid_start
    for n in 1 2 3 4; do
        ask POST "/v1/nodes/kepler-$n/drain" '{"reason": "fan"}'
        answered 200 '.drained and .reason == "fan"'
    done
    ask GET '/v1/devices?state=drained'
    answered 200 '.devices | length == 16 and all(.type == "k80")'
    id=$(submit '{"total_steps": 1e9, "types": ["k80"]}')
    sleep 1
    ask GET "/v1/jobs/$id"
    answered 200 '.state == "waiting"'
    ask POST /v1/nodes/kepler-3/resume '{"reason": "fixed"}'
    answered 200 '(.drained | not) and .reason == "fixed" and
        all(.devices[]; .state != "drained")'
    wait_state "$id" running
    ask GET "/v1/jobs/$id"
    answered 200 '.devices[0].node == "kepler-3"'
    ask GET /v1/nodes/kepler-3
    answered 200 '.jobs == 1 and (.drained | not)'
    ask GET /v1/nodes/kepler-1
    answered 200 '.drained'
    ask GET /v1/nodes
    answered 200 '[.nodes[] | select(.drained).name] == ["kepler-1", "kepler-2", "kepler-4"]'
    corgid_kill
    corgid_start
    ask GET /v1/nodes
    answered 200 '[.nodes[] | select(.drained).name] == ["kepler-1", "kepler-2", "kepler-4"]'
    ask POST /v1/nodes/kepler-9/resume
    answered 404
}

@test "a drained device takes nothing until it is resumed, by name and by number" {
    corgid_start
    for d in $(seq 0 15); do
        ask POST "/v1/devices/$d/drain" '{"reason": "dust"}'
        answered 200 '.state == "drained" and .reason == "dust"'
    done
    id=$(submit '{"total_steps": 1e9, "types": ["k80"], "share": false}')
    two=$(submit '{"total_steps": 1e9, "types": ["k80"], "share": false}')
    sleep 1
    ask GET "/v1/jobs/$id"
    answered 200 '.state == "waiting"'
    ask POST /v1/devices/kepler-2:1/resume
    answered 200 '.id == 5 and .name == "kepler-2:1" and .state != "drained" and .reason == null'
    wait_state "$id" running
    ask GET "/v1/jobs/$id"
    answered 200 '.devices[0].name == "kepler-2:1"'
    ask GET /v1/devices/5
    answered 200 ".state == \"busy\" and .jobs[0].job == $id and .type == \"k80\""
    ask GET /v1/devices/kepler-2:1
    answered 200 '.id == 5'
    ask POST /v1/devices/9/resume
    wait_state "$two" running
    ask GET "/v1/jobs/$two"
    answered 200 '.devices[0].device == 9'
    ask GET '/v1/devices?state=drained&node=kepler-2'
    answered 200 '[.devices[].id] == [4, 6, 7]'
}

@test "a device that is not there is found by no route, and none is touched" {
    corgid_start
    count=$(api GET /v1/devices | jq '.devices | length')
    for name in "$count" 4711 -1 99999999999999999999 kepler-1 kepler-1:4 kepler-9:0 nobody 1x; do
        echo "$name"
        for route in drain resume; do
            ask POST "/v1/devices/$name/$route"
            answered 404 '.error.message | contains("there is no device")'
        done
        ask POST "/v1/devices/$name/power" '{"cap_watts": 120}'
        answered 404
        ask GET "/v1/devices/$name"
        answered 404
    done
    ask GET /v1/devices
    # Idle nodes may fall asleep meanwhile.
    answered 200 'all(.devices[]; (.state == "free" or .state == "asleep") and .cap_watts == null)'
}

@test "an operator puts a node to sleep and wakes it, and it stays so" {
    corgid_start
    id=$(submit '{"total_steps": 1e9, "types": ["v100-16"], "move": false}')
    wait_state "$id" running
    busy=$(api GET "/v1/jobs/$id" | field devices.0.node)
    ask POST "/v1/nodes/$busy/power" '{"state": "asleep"}'
    answered 409 '.error.message | contains("has jobs")'
    ask GET "/v1/nodes/$busy"
    answered 200 '.state == "awake"'

    ask POST /v1/nodes/pascal-4/power '{"state": "asleep", "reason": "night"}'
    answered 200 '.state == "asleep" and .reason == "night"'
    ask GET /v1/nodes/pascal-4
    answered 200 '.state == "asleep" and .watts < .host_watts'
    ask GET '/v1/nodes?state=asleep'
    answered 200 'any(.nodes[]; .name == "pascal-4")'
    # Nothing wakes it: all others of its type are drained, and a job waits for one.
    for n in 1 2 3; do api POST "/v1/nodes/pascal-$n/drain" > /dev/null; done
    waiting=$(submit '{"total_steps": 1e9, "types": ["p100-16"]}')
    sleep 1
    corgid_kill
    corgid_start
    ask GET /v1/nodes/pascal-4
    answered 200 '.state == "asleep"'
    ask GET "/v1/jobs/$waiting"
    answered 200 '.state == "waiting"'

    ask POST /v1/nodes/pascal-4/power '{"state": "awake"}'
    answered 200 '.state == "waking" and (.may_sleep | not)'
    wait_state "$waiting" running
    ask GET "/v1/jobs/$waiting"
    answered 200 '.devices[0].node == "pascal-4"'
    ask POST "/v1/jobs/$waiting/cancel"
    sleep 2 # twenty simulated minutes in which an idle node would be put to sleep
    ask GET /v1/nodes/pascal-4
    answered 200 '.state == "awake"'
    ask POST /v1/nodes/pascal-4/resume
    answered 200 '.may_sleep'
}

@test "a power limit of a device is set, kept over a restart and lifted" {
    corgid_start
    ask POST /v1/devices/volta-1:2/power '{"cap_watts": 180, "reason": "hot"}'
    answered 200 '.cap_watts == 180'
    ask POST /v1/devices/volta-1:2/power '{"cap_watts": 5}'
    answered 400 '.error.field == "cap_watts"'
    ask GET /v1/devices/volta-1:2
    answered 200 '.cap_watts == 180 and .reason == "hot"'
    corgid_kill
    corgid_start
    ask GET /v1/devices/volta-1:2
    answered 200 '.cap_watts == 180'
    ask POST /v1/devices/volta-1:2/power '{"cap_watts": null}'
    answered 200 '.cap_watts == null'
    ask GET '/v1/devices?type=v100-16'
    answered 200 '(.devices | length) == 16 and all(.devices[]; .cap_watts == null)'
}

@test "hold and release say why, and the history who did it" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    api PUT "/v1/quotas/$(id -un)" '{"max_running": 0}' > /dev/null # so that it waits
    id=$(submit '{"total_steps": 1e9}')
    ask POST "/v1/jobs/$id/hold" '{"reason": "until Monday"}'
    answered 200 '.state == "held" and .reason == "until Monday" and .reason_code == "held"'
    ask GET "/v1/jobs/$id"
    answered 200 '.state == "held" and .reason == "until Monday"'
    ask POST "/v1/jobs/$id/release"
    answered 200 '.state == "waiting" and .reason_code != "held" and .reason != "held"
        and .reason != "until Monday"'
    ask POST "/v1/jobs/$id/release"
    answered 409
    ask POST "/v1/jobs/$id/hold"
    answered 200 '.state == "held" and .reason == "held"'
    ask POST "/v1/jobs/$id/release" '{"reason": "it is Monday"}'
    answered 200 '.state == "waiting" and .reason == "it is Monday"'
    ask GET "/v1/jobs/$id/history"
    me="by $(id -un)"
    answered 200 "[.events[] | select(.kind == \"held\" or .kind == \"released\") | .kind, .text]
        == [\"held\", \"until Monday; $me\", \"released\", \"$me\",
            \"held\", \"held; $me\", \"released\", \"it is Monday; $me\"]"
    ask PUT "/v1/quotas/$(id -un)" '{"max_running": null}'
    answered 200 '.max_running == null'
    wait_state "$id" running
}

@test "a changed job has a new quote, and is what was asked for after a restart too" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    first=$(submit '{"name": "one", "total_steps": 1e6, "hold": true,
        "need": {"kind": "rate", "rate": 0.01}}')
    second=$(submit '{"name": "two", "total_steps": 1e6, "hold": true}')
    before=$(api GET "/v1/jobs/$first" | jq -c .quote)
    ask PATCH "/v1/jobs/$first" '{"name": "uno", "need": {"kind": "rate", "rate": 0.02},
        "total_steps": 5e5, "types": ["v100-16"], "share": false, "move": false}'
    answered 200 '.quote.verdict == "unpromised" and .quote.type == "v100-16"
        and .job.name == "uno" and .job.promise == "pending"'
    ask PATCH "/v1/jobs/$second" '{"priority": 10}'
    answered 200 '.job.priority == 10'
    ask GET '/v1/jobs?state=active&order=queue'
    answered 200 "[.jobs[].id] == [$second, $first]"
    ask PATCH "/v1/jobs/$first" '{"memory_gb": 1e4}'
    answered 422 '.error.quote.verdict != "accepted"'
    ask PATCH "/v1/jobs/$first" '{"types": ["abacus"]}'
    answered 400 '.error.field | startswith("types")'
    ask PATCH "/v1/jobs/$first" '{}'
    answered 400
    ask PATCH /v1/jobs/4711 '{"priority": 1}'
    answered 404
    for again in no yes; do
        ask GET "/v1/jobs/$first"
        answered 200 '.name == "uno" and .need.rate == 0.02 and .total_steps == 5e5
            and .types == ["v100-16"] and (.share | not) and (.move | not)
            and .quote.verdict == "unpromised" and .quote.type == "v100-16"'
        [ "$(jq -c .quote <<< "$answer")" != "$before" ]
        ask GET "/v1/jobs/$second"
        answered 200 '.priority == 10 and .name == "two"'
        [ $again = yes ] || { corgid_kill && corgid_start; }
    done
    ask GET "/v1/jobs/$first/history"
    answered 200 "[.events[] | select(.kind == \"updated\").text | endswith(\"by $(id -un)\")] == [true]"
    ask POST "/v1/jobs/$first/release"
    wait_state "$first" running
    ask GET "/v1/jobs/$first"
    answered 200 '.devices[0].type == "v100-16" and .required_rate == 0.02'
}

@test "a quote with what_if answers each change, and nothing is submitted" {
    corgid_start
    known_kind '"total_steps": 1e12'
    ask POST /v1/quotes '{"job": {"total_steps": 1e6, "need": {"kind": "rate", "rate": 0.01}},
        "what_if": [{"types": ["v100-16"]}, {"need": {"kind": "rate", "rate": 1e8}},
                    {"gpus": 4, "types": ["p100-16"]}, {"need": {"kind": "best_effort"}}]}'
    answered 200 '.quote.verdict == "accepted" and (.what_if | length) == 4'
    answered 200 '.what_if[0] | .change.types == ["v100-16"] and .quote.type == "v100-16"
        and .quote.verdict == "accepted"'
    answered 200 '.what_if[1] | .change.need.rate == 1e8 and .quote.verdict == "counter"
        and .quote.counter_offers[0].rate < 1e8'
    answered 200 '.what_if[2] | .change.gpus == 4 and .quote.type == "p100-16"'
    answered 200 '.what_if[3].quote.verdict == "accepted"'
    # As if it had been asked for in the first place.
    changed=$(jq -c '.what_if[0].quote | .rate, .watts, .joules' <<< "$answer")
    ask POST /v1/quotes '{"job": {"total_steps": 1e6, "need": {"kind": "rate", "rate": 0.01},
        "types": ["v100-16"]}}'
    [ "$(jq -c '.quote | .rate, .watts, .joules' <<< "$answer")" = "$changed" ]
    ask GET '/v1/jobs?state=active'
    answered 200 '.jobs == []'
}

@test "asking for quotes changes no answer" {
    start_unmeasured
    plain='{"job": {"name": "x", "total_steps": 1e6, "need": {"kind": "rate", "rate": 0.01}}}'
    other='{"job": {"name": "y", "descriptor": {"family": "bert", "batch": 64}, "gpus": 2,
        "total_steps": 1e6, "need": {"kind": "rate", "rate": 5}}}'
    # Something that the next quotes may be put beside.
    wait_state "$(submit '{"total_steps": 1e9, "types": ["k80"]}')" running
    strip='.quote | del(.start_s, .end_s)'
    ask POST /v1/quotes "$plain"
    first=$(jq -c "$strip" <<< "$answer")
    estimates=$(api GET /v1/estimates)
    for _ in 1 2 3; do
        ask POST /v1/quotes "$other"
        answered 200
        ask POST /v1/quotes "$plain"
        [ "$(jq -c "$strip" <<< "$answer")" = "$first" ]
    done
    [ "$(api GET /v1/estimates)" = "$estimates" ]
}

@test "a measurement told for a running job is shown, learned and kept" {
    start_unmeasured
    id=$(submit '{"total_steps": 1e9, "types": ["v100-16"], "move": false}')
    wait_state "$id" running
    sleep 1.5
    ask GET "/v1/estimates?job=$id&type=v100-16&beside=none"
    answered 200 '(.cells | length) == 1 and .cells[0].rate.observations == 0'
    believed=$(jq '.cells[0].rate.value' <<< "$answer")
    rate=$(jq -n "$believed * 1.7")
    tell() { # ATTEMPT RATE
        ask POST /v1/measurements "{\"job\": $id, \"attempt\": $1, \"samples\":
            [{\"at_s\": $(api GET /v1/version | field now_s), \"window_s\": 10, \"rate\": $2,
              \"device_watts\": 123, \"steps\": 4711, \"source\": \"heartbeat\"}]}"
    }
    tell 2 "$rate" # an attempt that is not there
    answered 409 '.error.field == "attempt"'
    ask GET "/v1/jobs/$id"
    answered 200 '.rate == null'
    tell 1 "$rate"
    answered 202 '.accepted == 1'
    ask GET "/v1/jobs/$id"
    answered 200 ".rate == $rate and .steps_done >= 4711"
    ask GET "/v1/estimates?job=$id&type=v100-16&beside=none"
    answered 200 ".cells[0].rate | .source == \"measured\" and .observations >= 1
        and (.value / $rate | . > 0.75 and . < 1.25)"
    ask GET /v1/learned
    answered 200 ".first_sights == 1 and (.beliefs | length == 1) and (.beliefs[0] | .job == $id and .type == \"v100-16\"
        and .beside == null and .expected.value == $believed and (.measured_rate / $rate - 1 | fabs) < 1e-6)"
    await "/v1/jobs/$id/measurements" \
        ".points | length == 1 and (.[0].rate / $rate - 1 | fabs) < 1e-6 and .[0].watts > 0
            and .[0].source == \"heartbeat\""
    api POST "/v1/jobs/$id/cancel" > /dev/null
    tell 1 "$rate"
    answered 404 '.error.message | contains("does not run")'
    ask POST /v1/measurements '{"job": 4711, "samples": [{"at_s": 1, "window_s": 1, "rate": 1}]}'
    answered 404 '.error.field == "job"'
}

@test "estimates are filtered by job, type and neighbour, and cut at the limit" {
    start_unmeasured
    one=$(submit '{"name": "one", "total_steps": 1e9, "types": ["p100-16"]}')
    two=$(submit '{"name": "two", "total_steps": 1e9, "types": ["v100-16"],
        "need": {"kind": "rate", "rate": 1e-6}}')
    wait_state "$one" running
    wait_state "$two" running
    ask GET "/v1/estimates?job=$one&beside=none"
    answered 200 ".cells | map(.type) == [\"k80\", \"p100-16\", \"v100-16\"] and
        all(.job == $one and .name == \"one\" and .beside == [] and
            .rate.low <= .rate.value and .rate.value <= .rate.high and
            .fits >= 0 and .fits <= 1)"
    ask GET "/v1/estimates?job=$one&type=k80&beside=$two"
    answered 200 ".cells | length == 1 and .[0].beside[0].job == $two and
        .[0].beside[0].name == \"two\""
    beside=$(jq '.cells[0].rate.value' <<< "$answer")
    ask GET "/v1/estimates?job=$one&type=k80&beside=none"
    answered 200 ".cells[0].rate.value > $beside"
    ask GET '/v1/estimates?limit=2'
    answered 200 '(.cells | length) == 2 and .truncated'
    ask GET /v1/estimates
    answered 200 '(.cells | length) > 2 and (.truncated | not)'
    ask GET "/v1/estimates?job=$two&type=v100-16&beside=none"
    answered 200 '.cells[0].meets'
    ask GET '/v1/estimates?job=4711'
    answered 200 '.cells == []'
    ask GET '/v1/estimates?beside=nobody'
    answered 400 '.error.field == "beside"'
}

@test "a decision is shown as the list has it" {
    corgid_start
    id=$(submit '{"total_steps": 1e9, "share": false, "move": false}')
    wait_state "$id" running
    wait_state "$(submit '{"total_steps": 1e9, "share": false}')" running
    ask GET "/v1/decisions?job=$id&kind=start"
    answered 200 "(.decisions | length) == 1 and .decisions[0].job == $id"
    listed=$(jq -cS '.decisions[0] | del(.measured_rate)' <<< "$answer")
    number=$(jq '.decisions[0].id' <<< "$answer")
    ask GET "/v1/decisions/$number"
    answered 200 "(.alternatives | length) > 0 and .devices[0].name ==
        \"$(api GET "/v1/jobs/$id" | field devices.0.name)\""
    [ "$(jq -cS 'del(.measured_rate)' <<< "$answer")" = "$listed" ]
    ask GET /v1/decisions/4711
    answered 404
    ask GET /v1/decisions/0
    answered 404
}

@test "jobs are submitted, listed, cancelled and requeued, and the summary counts them" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    ask POST /v1/jobs '{"name": "r", "total_steps": 1e9}'
    answered 201 '.job.name == "r" and .quote.verdict == "accepted"'
    id=$(field job.id <<< "$answer")
    wait_state "$id" running
    ask GET /v1/summary
    answered 200 '.jobs.running == 1 and .jobs.waiting == 0 and .devices.busy == 1'
    ask POST "/v1/jobs/$id/requeue" '{"reason": "again"}'
    answered 200
    await "/v1/jobs/$id" '.state == "running" and .attempt == 2'
    ask GET "/v1/jobs/$id/output?attempt=1"
    answered 200 '.attempt == 1 and .attempts == 2 and .ended and .file == null and .text == ""'
    ask GET "/v1/jobs/$id/output?attempt=3"
    answered 404
    ask POST "/v1/jobs/$id/cancel" '{"reason": "enough"}'
    answered 200 '.state == "cancelled" and .reason == "enough"'
    ask GET /v1/summary
    answered 200 '.jobs.running == 0 and .jobs.cancelled == 1'
    ask GET '/v1/jobs?state=cancelled'
    answered 200 "[.jobs[].id] == [$id]"
}

@test "energy, quotas, policy and events tell what was done" {
    corgid_start
    ask PATCH /v1/policy '{"share": 1, "sleep": false}'
    answered 200 '.share == 1 and (.sleep | not)'
    ask GET /v1/policy
    answered 200 ".share == 1 and (.sleep | not) and .changed_by == \"$(id -un)\""
    ask POST /v1/policy/preview '{"sleep": true, "hours": 0.5}'
    answered 200 '.until_s - .from_s == 1800 and .jobs == 0 and .proposed.joules < .present.joules'
    ask GET /v1/policy
    answered 200 '(.sleep | not)'
    ask GET /v1/learned
    answered 200 '.beliefs == [] and .first_sights == 0'
    ask GET /v1/advice
    answered 200 '(.watching | not) and (.days | length == 7) and .published == null'
    said='{"version": 1, "policies": [{}, {}], "replay": {}, "users": []}'
    ask PUT /v1/advice "$(jq -n --arg said "$said" '{advice: $said}')"
    answered 200 '.at_s > 0'
    ask GET "/v1/advice?days=2"
    answered 200 ".published.by == \"$(id -un)\" and .published.advice == $said and (.days | length == 2)"
    ask PUT /v1/advice '{"advice": "{\"version\": 1}"}'
    answered 400 '.error.message | contains("corgi advise --json")'
    ask PUT /v1/quotas/ada '{"max_jobs": 7}'
    answered 200 '.user == "ada" and .max_jobs == 7'
    ask GET /v1/quotas
    answered 200 'any(.quotas[]; .user == "ada" and .max_jobs == 7 and .jobs == 0)'
    id=$(submit '{"total_steps": 5000}')
    wait_state "$id" "done"
    await "/v1/energy?by=job&job=$id" ".rows | length == 1 and .[0].key == \"$id\" and
        .[0].joules > 0"
    # The stream does not end: curl ends it, after what was there.
    answer=$(api GET "/v1/events?job=$id" '' -N --max-time 2 -H 'Last-Event-ID: 0' || true)
    [[ $answer == *'"what":"submitted"'*'"what":"done"'* ]]
    echo "GET /v1/events" >> "$BATS_FILE_TMPDIR/asked"
}

@test "a stepped clock goes as far as it is told" {
    sed -i 's/^sim:.*/sim: {clock: stepped, start: 1000}/' "$CORGID_DIR/c.yaml"
    corgid_start
    ask POST /v1/sim/advance '{"to_s": 1234}'
    answered 200 '.now_s == 1234 and .there'
    ask GET /v1/version
    answered 200 '.now_s == 1234'
}

@test "every route of the document has a case above" {
    # Only when all of them ran: one alone asks for a few.
    [ -z "${BATS_TEST_FILTER:-}" ] || skip "some cases were left out"
    run python3 - "$BATS_TEST_DIRNAME/../../docs/openapi.yaml" "$BATS_FILE_TMPDIR/asked" << 'END'
import re, sys
routes, path = [], None
for line in open(sys.argv[1]):
    match = re.match(r"  (/\S*):$", line)
    if match:
        path = match.group(1)
    match = re.match(r"    (get|put|post|patch|delete):$", line)
    if match and path:
        routes.append((match.group(1).upper(), path))
    if line.startswith("components:"):
        break
asked = {tuple(line.split()) for line in open(sys.argv[2])}
for method, path in routes:
    pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
    if not any(m == method and pattern.fullmatch(p) for m, p in asked):
        print("no case asks for", method, path)
print(len(routes), "routes")
END
    echo "$output"
    [[ $output =~ ^[1-9][0-9]+\ routes$ ]]
}
