#!/usr/bin/env bats
# What Prometheus and Grafana are given: rules that load and say what they should, and no
# figure in them that the daemon does not have.
bats_require_minimum_version 1.5.0

load ../support/corgid.bash

packaging=$BATS_TEST_DIRNAME/../../packaging

setup() { corgid_folder; }
teardown() { corgid_clean; }

@test "promtool loads the rules, and they wake somebody when they should" {
    command -v promtool > /dev/null || skip "promtool is not installed"
    promtool check rules "$packaging/prometheus-rules.yaml"
    promtool test rules "$packaging/prometheus-rules-test.yaml"
}

@test "every figure of the rules and of Grafana's page is one of the daemon's" {
    corgid_start
    api GET /metrics > "$CORGID_DIR/metrics"
    # Those with labels come when something has happened; their names are in the sources.
    grep -rohE '"corgi_[a-z_]+"' "$BATS_TEST_DIRNAME"/../../src/service "$BATS_TEST_DIRNAME"/../../src/http | tr -d '"' > "$CORGID_DIR/table"
    jq -e '.panels | length > 5' "$packaging/grafana-dashboard.json" > /dev/null
    while read -r name; do
        grep -qE "^# TYPE ${name%_bucket} " "$CORGID_DIR/metrics" || grep -qx "${name%_bucket}" "$CORGID_DIR/table" || {
            echo "no $name"
            false
        }
    done < <(grep -ohE '\bcorgi_[a-z_]+' "$packaging/grafana-dashboard.json" "$packaging/prometheus-rules.yaml" | sort -u)
}

@test "docs/metrics.md names every figure of the daemon, and no other" {
    grep -rohE '"corgi_[a-z_]+"' "$BATS_TEST_DIRNAME"/../../src/service | tr -d '"' | sort -u > "$CORGID_DIR/ours"
    # shellcheck disable=SC2016  # marks of the page
    sed -n 's/^| `\(corgi_[a-z_]*\)`.*/\1/p' "$BATS_TEST_DIRNAME"/../../docs/metrics.md | sort > "$CORGID_DIR/told"
    [ "$(wc -l < "$CORGID_DIR/told")" -gt 30 ]
    diff "$CORGID_DIR/ours" "$CORGID_DIR/told"
    # And what a daemon tells has these kinds.
    corgid_start
    api GET /metrics | sed -n 's/^# TYPE \([a-z_]*\) \([a-z]*\)/\1 \2/p' > "$CORGID_DIR/kinds"
    [ -s "$CORGID_DIR/kinds" ]
    while read -r name kind; do
        grep -q "^| \`$name\` | $kind |" "$BATS_TEST_DIRNAME"/../../docs/metrics.md || {
            echo "$name is a $kind"
            false
        }
    done < "$CORGID_DIR/kinds"
}
