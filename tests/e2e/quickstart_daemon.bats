#!/usr/bin/env bats
# What ./quickstart leaves running: a daemon of its own, found again, ended by name, whose
# jobs show what Corgi does.

setup() {
    dir=$(mktemp -d /tmp/corgi-quick.XXXXXX)
    tool="$BATS_TEST_DIRNAME/../../tools/quickstart-daemon"
}
teardown() {
    for folder in "$dir" "$dir"/*/; do
        "$tool" stop "$CORGI_BIN" "$folder" > /dev/null 2>&1 || true
        "$tool" stop "$CORGI_BIN" "$folder" --real > /dev/null 2>&1 || true
    done
    rm -rf "$dir"
}

jobs_there() { # folder: how many wait or run
    CORGI_SOCKET=$(< "$1/socket") "$CORGI_BIN/corgi" queue --parsable | sed 1d | wc -l
}

@test "it starts once, has jobs to look at, outlives the shell, and ends" {
    run bash -c "'$tool' start '$CORGI_BIN' '$dir'"
    [ "$status" -eq 0 ]
    [[ $output == *"a simulated cluster runs"* ]]
    # The dashboard is where it says, and the token opens it.
    address=$(grep -o 'http://127[^ ]*' <<< "$output")
    curl -sf "${address%%#*}" | grep -q '<title>Corgi'
    curl -sf -H "Authorization: Bearer ${address##*token=}" "${address%%#*}v1/whoami" | grep -q operator
    pid=$(< "$dir/corgid.pid")
    kill -0 "$pid"
    [ "$(jobs_there "$dir")" -eq 6 ]
    "$tool" start "$CORGI_BIN" "$dir"
    [ "$(< "$dir/corgid.pid")" = "$pid" ]
    [ "$(jobs_there "$dir")" -eq 6 ]
    "$tool" stop "$CORGI_BIN" "$dir"
    run kill -0 "$pid"
    [ "$status" -ne 0 ]
    run "$tool" stop "$CORGI_BIN" "$dir"
    [ "$status" -eq 1 ]
    # And again: the jobs go on.
    "$tool" start "$CORGI_BIN" "$dir"
    [ "$(jobs_there "$dir")" -eq 6 ]
}

@test "two starts at once are one daemon with one demo" {
    "$tool" start "$CORGI_BIN" "$dir" > "$dir/first" 3>&- &
    "$tool" start "$CORGI_BIN" "$dir" > "$dir/second"
    wait $!
    [ "$(jobs_there "$dir")" -eq 6 ]
    diff "$dir/first" "$dir/second"
}

@test "in two minutes it shows types, a pair, a power limit, a sleeping node, a mend, better estimates" {
    "$tool" start "$CORGI_BIN" "$dir"
    CORGI_SOCKET=$(< "$dir/socket")
    export CORGI_SOCKET
    corgi=$CORGI_BIN/corgi
    slow=$("$corgi" queue --parsable | awk -F '|' '$2 == "slows-down" {print $1}')
    declare -A seen types
    for _ in $(seq 120); do
        sleep 1
        "$corgi" queue --json > "$dir/queue.json"
        "$corgi" nodes --json > "$dir/nodes.json"
        for type in $(jq -r '.jobs[].devices[].type' "$dir/queue.json"); do types[$type]=1; done
        jq -e '[.jobs[] | select(.neighbours | length > 0)] | length >= 2' "$dir/queue.json" && seen[pair]=1
        jq -e '[.nodes[].devices[] | select(.cap_watts != null)] | length >= 1' "$dir/nodes.json" && seen[cap]=1
        jq -e '[.nodes[] | select(.state == "asleep")] | length >= 1' "$dir/nodes.json" && seen[asleep]=1
        "$corgi" why "$slow" -l 100 --json | grep -q '"guard"' && seen[guard]=1
        [ "${#seen[@]}" -eq 4 ] && [ "${#types[@]}" -ge 2 ] &&
            jq -e --arg job "$slow" '.jobs[] | select(.id == ($job | tonumber)) | .rate_ratio >= 0.95' "$dir/queue.json" &&
            break
    done > /dev/null
    echo "seen: ${!seen[*]}; types: ${!types[*]}"
    [ "${#seen[@]}" -eq 4 ]
    [ "${#types[@]}" -ge 2 ]
    # All have what was promised them, the one that slowed down again.
    jq -e '[.jobs[] | select(.rate_ratio != null and .rate_ratio < 0.95)] == []' "$dir/queue.json"
    # The interval of an estimate is soon a part of what it was when the job was new.
    "$corgi" submit --json --family New-One --model gan --batch 128 --gmac 0.0085 --params 0.13 --sample-mb 0.3 \
        --min-rate 5 --steps 1e7 -- python new.py > "$dir/new.json"
    better=no
    for _ in $(seq 60); do
        sleep 0.5
        "$corgi" estimates "$(jq .job.id "$dir/new.json")" --type "$(jq -r .quote.type "$dir/new.json")" --json \
            > "$dir/estimates.json"
        jq -e --slurpfile new "$dir/new.json" '.cells[0].rate as $now | $new[0].quote.rate as $first |
            $now.high / $now.low < 0.2 * $first.high / $first.low' "$dir/estimates.json" > /dev/null &&
            better=yes && break
    done
    [ "$better" = yes ]
}

@test "a copied folder begins anew and leaves the other's daemon alone, a moved one goes on" {
    "$tool" start "$CORGI_BIN" "$dir/one"
    first=$(< "$dir/one/corgid.pid")
    cp -r "$dir/one" "$dir/two"
    "$tool" start "$CORGI_BIN" "$dir/two"
    second=$(< "$dir/two/corgid.pid")
    [ "$first" != "$second" ]
    kill -0 "$first"
    [ "$(< "$dir/one/socket")" != "$(< "$dir/two/socket")" ]
    [ "$(jobs_there "$dir/two")" -eq 6 ]
    "$tool" stop "$CORGI_BIN" "$dir/two"
    kill -0 "$first"
    mv "$dir/one" "$dir/three"
    "$tool" start "$CORGI_BIN" "$dir/three"
    run kill -0 "$first"
    [ "$status" -ne 0 ]
    [ "$(jobs_there "$dir/three")" -eq 6 ]
    "$tool" stop "$CORGI_BIN" "$dir/three"
}

@test "a folder whose path is too long for a socket works too" {
    deep=$dir/$(printf 'd%.0s' $(seq 120))
    "$tool" start "$CORGI_BIN" "$deep"
    CORGI_SOCKET=$(< "$deep/socket") "$CORGI_BIN/corgi" nodes > /dev/null
    "$tool" stop "$CORGI_BIN" "$deep"
}

@test "wrong use is told" {
    run "$tool" begin "$CORGI_BIN" "$dir"
    [ "$status" -eq 2 ]
    [[ $output == *Usage* ]]
}

@test "with --real programs run on this machine, and end with their daemon" {
    "$tool" start "$CORGI_BIN" "$dir/real" --real
    CORGI_SOCKET=$(< "$dir/real/socket")
    export CORGI_SOCKET
    measured=0
    for _ in $(seq 60); do
        sleep 1
        measured=$("$CORGI_BIN/corgi" queue --json | jq '[.jobs[] | select(.state == "running" and .rate > 0)] | length')
        [ "$measured" -lt 3 ] || break
    done
    [ "$measured" -eq 3 ]
    "$tool" stop "$CORGI_BIN" "$dir/real" --real
    left=$(grep -lzxs "CORGI_ENGINE=$dir/real/state/engine" /proc/[0-9]*/environ || true)
    [ -z "$left" ]
}
