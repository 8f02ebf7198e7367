#!/usr/bin/env bats
# The files an operator writes: shown, checked, used.

corgi="$CORGI_BIN/corgi"

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

@test "what config show prints is a file that config check takes" {
    for kind in settings cluster; do
        "$corgi" config show --kind "$kind" > "$kind.yaml"
        run "$corgi" config check --kind "$kind" "$kind.yaml"
        [ "$status" -eq 0 ]
    done
}

@test "the documented defaults are the ones in use" {
    "$corgi" config show > settings.yaml
    "$corgi" sim --seeds 1 --days 1 --json > without.json
    "$corgi" sim --seeds 1 --days 1 --config settings.yaml --json > with.json
    cmp without.json with.json
}

@test "a setting changes what is decided, and the command line wins" {
    echo 'sleep: false' > awake.yaml
    run "$corgi" sim --seeds 1 --days 1 --policy fifo --config awake.yaml --json
    [ "$status" -eq 0 ]
    [ "$(jq '.rows[0].asleep_kwh' <<< "$output")" = 0 ]
    echo 'share: 2' > share.yaml
    "$corgi" sim --seeds 1 --days 1 --policy pack-blind --config share.yaml --share 1 --json > one.json
    "$corgi" sim --seeds 1 --days 1 --policy pack-blind --share 1 --json > other.json
    cmp one.json other.json
}

@test "an unknown key is refused with its place and the nearest name" {
    printf 'share: 2\nslep: true\n' > bad.yaml
    run "$corgi" config check bad.yaml
    [ "$status" -eq 1 ]
    [[ $output == *"bad.yaml:2:1"* && $output == *"sleep"* ]]
}

@test "all mistakes of a file are told, each with its place" {
    printf 'share: 9\nslep: true\nconfidence: most\n' > bad.yaml
    run "$corgi" config check bad.yaml
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[0]} == *"bad.yaml:1:8: 'share'"* ]]
    [[ ${lines[1]} == "bad.yaml:2:1: "*"'sleep'?" ]]
    [[ ${lines[2]} == "bad.yaml:3:13: 'confidence'"* ]]
}

@test "a power limit by hour: a list or a text, and what is wrong with it" {
    for value in '20kW' '[20kW, 07:00-20:00 12kW]' '20kW, 22:00-06:00 none'; do
        echo "power_limit: $value" > limit.yaml
        "$corgi" config check limit.yaml
    done
    printf 'power_limit:\n  - 20kW\n  - 07:00-20:00 12kW\n' > limit.yaml
    "$corgi" config check limit.yaml
    printf 'power_limit: [20kW, 07:00-20:00 12kW, 19:00-21:00 9kW]\n' > bad.yaml
    run "$corgi" config check bad.yaml
    [ "$status" -eq 1 ]
    [[ $output == *"bad.yaml:1:14: 'power_limit': the hours 07:00-20:00 and 19:00-21:00 overlap"* ]]
    for value in '[]' '{a: 1}' 'much' '[7-20]' '[[20kW]]' '20kW, 12kW'; do
        echo "power_limit: $value" > bad.yaml
        run "$corgi" config check bad.yaml
        [ "$status" -eq 1 ]
        [[ $output == *"bad.yaml:1:"*"'power_limit'"* ]]
    done
}

@test "values out of range are refused" {
    for value in 'share: 0' 'share: 3' 'confidence: 1.5' 'confidence: nan' 'progress: -5W' \
        'grace: 10 parsecs' 'moves: perhaps'; do
        echo "$value" > bad.yaml
        run "$corgi" sim --config bad.yaml
        [ "$status" -eq 1 ]
        [ "${#lines[@]}" -eq 1 ]
        [[ $output == *"bad.yaml:1:"* ]]
    done
}
