#!/usr/bin/env bats
# corgi sim: the same bytes for the same seed, one sentence for bad input, whole files.

bats_require_minimum_version 1.5.0

setup() {
    corgi="$CORGI_BIN/corgi"
    dir=$(mktemp -d)
    tables="$CORGI_OWN_DATA"
    quick=(sim --days 0.2 --seeds 1 --policy fifo)
}

teardown() {
    rm -rf "$dir"
}

# One line on stderr that holds the words, nothing on stdout, and the exit status.
assert_refused() { # status, words, command...
    local status_wanted=$1 words=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$status_wanted" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$words"* ]]
}

# Every request is somewhere, and every joule is booked once.
assert_books_balance() { # file
    jq -e '(.rows | length > 0) and all(.rows[];
        .finished + .running + .waiting + .rejected + .failed == .jobs and
        ((.device_kwh + .host_kwh + .idle_kwh + .wake_kwh) / .energy_kwh - 1 | fabs) < 1e-6)' \
        "$1"
}

# No file may grow beyond so many kilobytes, as if the disk were full.
with_small_disk() { # kilobytes, command...
    run bash -c 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"' _ "$@"
    echo "$status $output"
}

@test "the same seed gives the same bytes, another seed others" {
    "$corgi" sim --days 0.3 --seeds 2 --seed 7 --json > "$dir/a.json"
    "$corgi" sim --days 0.3 --seeds 2 --seed 7 --json --threads 1 > "$dir/b.json"
    cmp "$dir/a.json" "$dir/b.json"
    assert_books_balance "$dir/a.json"
    "$corgi" "${quick[@]}" --seed 7 --json > "$dir/c.json"
    "$corgi" "${quick[@]}" --seed 8 --json > "$dir/d.json"
    run ! cmp "$dir/c.json" "$dir/d.json"
}

@test "the JSON has the keys of the contract" {
    "$corgi" "${quick[@]}" --json > "$dir/a.json"
    jq -e '.rows[0] | has("policy") and has("load") and has("sleep") and has("seeds") and
        has("energy_kwh") and has("energy_kwh_ci") and has("sla_time") and has("sla_jobs") and
        has("wait_p95_s") and has("moves_per_job") and has("efficiency_allocated") and
        has("efficiency_powered") and has("decision_ms_p99")' "$dir/a.json"
    jq -e '.rows[0].decision_ms_p99 == null' "$dir/a.json"
    "$corgi" "${quick[@]}" --json --timings | jq -e '.rows[0].decision_ms_p99 > 0'
}

@test "bench plan times rounds, improvements and quotes of the planner" {
    "$corgi" bench plan --jobs 20,40 --events 12 --json > "$dir/plan.json"
    jq -e '(.sizes | length == 2) and all(.sizes[]; .running > 10 and .event.count > 12 and
        .improve.count > 0 and .quote.count == 12 and .event.p50_ms > 0 and
        .event.p50_ms <= .event.p99_ms and .event.p99_ms <= .event.max_ms) and
        .sizes[0].growth == null and .sizes[1].growth != null' "$dir/plan.json"
    "$corgi" bench plan --jobs 20 --events 2 | grep -q "p99"
    run -2 "$corgi" bench plan --jobs 20,0
    [[ $output == *"--jobs 0 is not within 1 and 20000"* ]]
}

@test "bench/evaluation prints rows and goals, and names what is missing" {
    local evaluation="$BATS_TEST_DIRNAME/../../bench/evaluation"
    python3 - "$evaluation" > "$dir/short" <<- 'PYTHON'
	import sys
	text = open(sys.argv[1]).read()
	print(text.replace('"standard-gangs", "--load", "50"]', '"standard-gangs", "--load", "50", "--limit", "40"]'))
	PYTHON
    run --separate-stderr python3 "$dir/short" --corgi "$corgi" --draws 2 --policies corgi,least-energy-caps,fifo \
        standard-gangs
    # two draws of forty jobs may meet the goals or miss them: the status says which
    if [[ $output == *missed* ]]; then [ "$status" -eq 1 ]; else [ "$status" -eq 0 ]; fi
    [[ $output == *"standard-gangs, 2 draws"* && $output == *"energy against least-energy-caps"* ]]
    first=$output
    [[ $output != *" -  "* ]] # the bound is there
    # one after another the draws print the same
    run python3 "$dir/short" --corgi "$corgi" --draws 2 --threads 1 --policies corgi,least-energy-caps,fifo \
        standard-gangs
    [ "$output" = "$first" ]
    run -2 env CORGI_DATA=/nowhere "$evaluation" --corgi "$corgi" philly
    [[ $output == *"philly/philly_arrivals.csv is not there; set CORGI_DATA"* ]]
    run -2 "$evaluation" --corgi "$corgi" nonsense
}

@test "--watts needs measured rates and tables to read" {
    run -2 "$corgi" sim --watts "$dir"
    [[ $output == *"--watts needs --throughputs"* ]]
    run -1 "$corgi" sim --watts "$dir" --throughputs "$BATS_TEST_DIRNAME/../data/measured-like/throughputs.json"
    [[ $output == *"holds no summary_power_<gpu>.csv"* ]]
}

@test "every key of the JSON is in docs/json.md" {
    local doc="$BATS_TEST_DIRNAME/../../docs/json.md" key
    "$corgi" "${quick[@]}" --policy corgi,least-energy --load 50 --json > "$dir/sim.json"
    jq -e '.goals | any(.at | length > 0)' "$dir/sim.json"
    "$corgi" gpus --json > "$dir/gpus.json"
    for key in $(jq -r '.. | objects | keys[]' "$dir/sim.json" "$dir/gpus.json" | sort -u); do
        grep -q "^| \`$key\`" "$doc" || { echo "'$key' is not in docs/json.md"; return 1; }
    done
}

@test "on a pipe the table has no escape codes and no progress bar" {
    run --separate-stderr "$corgi" "${quick[@]}" --policy corgi,fifo
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ $output == policy* && $output == *fifo* ]]
    [[ $output != *$'\e'* && $output != *$'\r'* ]]
}

@test "every load and every policy is a row" {
    "$corgi" "${quick[@]}" --policy fastest,fifo --load 30,60 --json > "$dir/a.json"
    [ "$(jq -c '[.rows[] | [.load, .policy]]' "$dir/a.json")" = \
        '[[0.3,"fastest"],[0.3,"fifo"],[0.6,"fastest"],[0.6,"fifo"]]' ]
}

@test "--out writes whole files, in a directory it makes" {
    "$corgi" "${quick[@]}" --seed 3 --json --out "$dir/deep/out" > "$dir/a.json"
    cmp "$dir/a.json" "$dir/deep/out/sim.json"
    [ "$(ls -A "$dir/deep/out")" = $'jobs.csv\nreport.html\nrows.csv\nsim.json' ]
    [ "$(wc -l < "$dir/deep/out/rows.csv")" -eq 2 ]
    [ "$(wc -l < "$dir/deep/out/jobs.csv")" -eq $(($(jq '.rows[0].jobs' "$dir/a.json") + 1)) ]
    "$corgi" "${quick[@]}" --seed 3 --out "$dir/deep/out" > "$dir/table"
    cmp "$dir/a.json" "$dir/deep/out/sim.json"
}

@test "--out where nothing can be written fails and leaves nothing" {
    : > "$dir/file"
    assert_refused 1 "$dir/file" "$corgi" "${quick[@]}" --out "$dir/file"
    assert_refused 1 "$dir/file/out" "$corgi" "${quick[@]}" --out "$dir/file/out"
    [ ! -s "$dir/file" ]
    if [ "$(id -u)" -ne 0 ]; then
        mkdir -m 0555 "$dir/closed"
        assert_refused 1 "$dir/closed" "$corgi" "${quick[@]}" --out "$dir/closed"
        [ -z "$(ls -A "$dir/closed")" ]
    fi
}

@test "--out on a full disk fails, and old files stay as they were" {
    local before kilobytes longer=(sim --days 2 --seeds 1 --policy fifo)
    "$corgi" "${longer[@]}" --seed 3 --out "$dir/out" > /dev/null
    before=$(cat "$dir/out"/* | sha256sum)
    [ "$(wc -c < "$dir/out/jobs.csv")" -gt 2048 ]
    # None fits, then all but the longest, which is written last.
    for kilobytes in 1 2; do
        with_small_disk $kilobytes "$corgi" "${longer[@]}" --seed 4 --out "$dir/out"
        [ "$status" -eq 1 ]
        [[ $output == *"$dir/out/"* ]]
        [ "$before" = "$(cat "$dir/out"/* | sha256sum)" ]
        [ "$(ls -A "$dir/out")" = $'jobs.csv\nreport.html\nrows.csv\nsim.json' ]
        with_small_disk $kilobytes "$corgi" "${longer[@]}" --seed 4 --out "$dir/new"
        [ "$status" -eq 1 ]
        [ -z "$(ls -A "$dir/new")" ]
    done
}

@test "output that cannot be written is a failure" {
    run bash -c '"$@" > /dev/full' _ "$corgi" "${quick[@]}" --json
    [ "$status" -eq 1 ]
    [[ $output == *"No space left"* ]]
    run bash -c '"$@" >&-' _ "$corgi" "${quick[@]}" --json
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "a reader that goes away ends it quietly" {
    run bash -c 'set -o pipefail; "$@" | true' _ "$corgi" "${quick[@]}" --json
    echo "$status $output"
    [ "$status" -eq 0 ] || [ "$status" -eq 1 ] || [ "$status" -eq 141 ]
    [[ $output != *assert* ]]
}

@test "two at once into one directory leave whole files" {
    "$corgi" "${quick[@]}" --seed 3 --out "$dir/out" --json > "$dir/a.json" &
    local first=$!
    "$corgi" "${quick[@]}" --seed 3 --out "$dir/out" --json > "$dir/b.json"
    wait "$first"
    cmp "$dir/a.json" "$dir/b.json"
    cmp "$dir/a.json" "$dir/out/sim.json"
    [ "$(ls -A "$dir/out")" = $'jobs.csv\nreport.html\nrows.csv\nsim.json' ]
}

@test "wrong use is refused with exit status 2" {
    assert_refused 2 "unknown option '--polcy' (did you mean '--policy'?)" \
        "$corgi" sim --polcy fifo
    assert_refused 2 "unknown policy 'lifo'; there are corgi, corgi-nocaps" \
        "$corgi" sim --policy fifo,lifo
    assert_refused 2 "pack-blind" "$corgi" sim --policy lifo
    assert_refused 2 "unknown workload 'huge'" "$corgi" sim --workload huge
    assert_refused 2 "seed" "$corgi" sim --seed -1
    assert_refused 2 "days" "$corgi" sim --days nan
    assert_refused 2 "until" "$corgi" sim --until -5
    assert_refused 2 "mtbf" "$corgi" sim --mtbf -1d
    assert_refused 2 "load" "$corgi" sim --load 0
    assert_refused 2 "load" "$corgi" sim --load 30,,50
    assert_refused 2 "load" "$corgi" sim --load 30 --trace jobs.csv
    assert_refused 2 "share" "$corgi" sim --share 5
    assert_refused 2 "extra" "$corgi" sim extra
}

@test "--until stops the clock and counts what is left" {
    "$corgi" sim --days 0.5 --seeds 1 --until 6h --policy all --json > "$dir/a.json"
    assert_books_balance "$dir/a.json"
    jq -e 'all(.rows[]; .end_s == 21600 and .running > 0 and .waiting > 0)' "$dir/a.json"
}

@test "--check finds nothing wrong with any policy and changes nothing" {
    local rough=(sim --days 0.3 --seeds 2 --seed 5 --mtbf 6h --sleep both --policy all --json)
    "$corgi" "${rough[@]}" > "$dir/a.json"
    "$corgi" "${rough[@]}" --check > "$dir/b.json"
    cmp "$dir/a.json" "$dir/b.json"
    jq -e '[.rows[].restarts] | add > 0' "$dir/a.json"
}

@test "quarters and what comes after them are the whole run" {
    "$corgi" sim --days 0.5 --seeds 2 --policy corgi,oracle,fifo --json > "$dir/a.json"
    jq -e 'def all_parts: .quarters + [.after_last_arrival];
        def near($a; $b): ($a - $b | fabs) < 1e-6 * (1 + $b);
        all(.rows[]; (.quarters | length == 4) and
            near([all_parts[].energy_kwh] | add; .energy_kwh) and
            near([all_parts[].seconds] | add; .end_s) and
            near([all_parts[].work] | add; .work_reference_gpu_hours))' "$dir/a.json"
    jq -e '.rows[0].quarters | all(.[]; .wh_per_unit > 0 and .sla_time > 0 and
        .wh_per_unit_to_oracle_percent != null) and
        any(.[]; .first_estimate_error_percent > 0)' "$dir/a.json"
    jq -e 'all(.rows[1].quarters[]; .wh_per_unit_to_oracle_percent == 0)' "$dir/a.json"
}

@test "goals are listed with what was measured, and their table ends the text" {
    local few=(sim --days 0.3 --seeds 2 --load 50 --policy "corgi,least-energy-caps")
    "$corgi" "${few[@]}" --json > "$dir/a.json"
    jq -e '(.rows[1] | .energy_against_least_energy_caps_percent == 0 and
            .energy_against_gavel_cost_packed_percent == null) and
        (.rows[0].energy_against_least_energy_caps_percent as $saved |
            .goals[] | select(.goal == "energy" and .against == "least-energy-caps") |
            .worst == $saved and .must == -20 and .at[0].load == 0.5 and
            (.met | IN("no", "must", "target")))' "$dir/a.json"
    jq -e '.goals_by_protocol == false and (.goals | length == 13) and
        (.goals[] | select(.against == "gavel-energy-packed") | .met == null)' "$dir/a.json"
    "$corgi" "${few[@]}" > "$dir/text"
    grep -q '^goal .*met$' "$dir/text"
    [ "$(grep -c 'not measured' "$dir/text")" -eq "$(jq '[.goals[] | select(.met == null)] | length' "$dir/a.json")" ]
    # Nothing to compare with, no table.
    run -0 "$corgi" "${quick[@]}" --policy corgi,fifo
    [[ $output != *"not measured"* ]]
}

@test "a trace with bad lines is refused with its line" {
    local header=job_type,total_steps,arrival_s,scale_factor
    assert_refused 1 "$dir/none.csv" "$corgi" sim --trace "$dir/none.csv"
    assert_refused 1 "$dir" "$corgi" sim --trace "$dir"
    : > "$dir/t.csv"
    assert_refused 1 "$dir/t.csv" "$corgi" sim --trace "$dir/t.csv"
    printf '%s\n' "$header" > "$dir/t.csv"
    assert_refused 1 "$dir/t.csv holds no jobs" "$corgi" sim --trace "$dir/t.csv"
    printf '%s\nLM,10,0,1\nLM,10' "$header" > "$dir/t.csv"
    assert_refused 1 "$dir/t.csv line" "$corgi" sim --trace "$dir/t.csv"
    printf '%s\nno such job,10,0,1\n' "$header" > "$dir/t.csv"
    assert_refused 1 "$dir/t.csv line 2: unknown job type 'no such job'; give the table" \
        "$corgi" sim --trace "$dir/t.csv"
    head -c 100000 /dev/urandom > "$dir/t.csv"
    assert_refused 1 "$dir/t.csv" "$corgi" sim --trace "$dir/t.csv"
}

@test "a cluster file with a mistake is refused with line and column" {
    assert_refused 1 "$dir/none.yaml" "$corgi" sim --cluster "$dir/none.yaml"
    printf 'nodes:\n  - gpu: v100\n    cuont: 4\n' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml:3:5: unknown key 'cuont', did you mean 'count'?" \
        "$corgi" sim --cluster "$dir/c.yaml"
    printf 'nodes:\n  - gpu: abacus\n' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml:2:10" "$corgi" sim --cluster "$dir/c.yaml"
    printf 'nodes:\n  - gpu: v100\n    host: -3W\n' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml:3:11" "$corgi" sim --cluster "$dir/c.yaml"
    printf 'nodes:\n  - {gpu: v100, count: 15000, gpus: 64}\n' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml:2" "$corgi" sim --cluster "$dir/c.yaml"
    printf 'nodes: [' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml" "$corgi" sim --cluster "$dir/c.yaml"
    head -c 1000000 /dev/zero | tr '\0' '[' > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml" "$corgi" sim --cluster "$dir/c.yaml"
    head -c 100000 /dev/urandom > "$dir/c.yaml"
    assert_refused 1 "$dir/c.yaml" "$corgi" sim --cluster "$dir/c.yaml"
}

@test "throughputs that cannot be read are refused by name" {
    local file="$dir/rates.json"
    assert_refused 1 "$file" "$corgi" sim --throughputs "$file"
    for text in '' '{' '[]' 'null' '{"v100": 3}' '{"v100": {"light": {"null": 3}}}' \
        '{"abacus": {}}' "{\"v100\": {\"('a', 1)\": {\"null\": NaN}}}" \
        "{\"v100\": {\"('a', 1)\": {\"null\": -1}}}" \
        "{\"v100\": {\"('a', 1)\": {\"null\": 1e300}}}" \
        "{\"v100\": {\"('a', 1)\": {\"null\": \"fast\"}}}"; do
        printf '%s' "$text" > "$file"
        assert_refused 1 "$file" "$corgi" sim --throughputs "$file"
    done
    head -c 1000000 /dev/zero | tr '\0' '[' > "$file"
    assert_refused 1 "$file" "$corgi" sim --throughputs "$file"
    yes '{"a":' | head -n 1000000 | tr -d '\n' > "$file"
    assert_refused 1 "$file" "$corgi" sim --throughputs "$file"
}

@test "throughputs cut short are refused, and a GPU they lack is named" {
    head -c 50000 "$tables/throughputs.json" > "$dir/cut.json"
    assert_refused 1 "$dir/cut.json" "$corgi" sim --throughputs "$dir/cut.json"
    printf 'nodes:\n  - gpu: h100\n' > "$dir/c.yaml"
    assert_refused 1 "has no rates for GPU 'h100" "$corgi" sim --cluster "$dir/c.yaml" \
        --throughputs "$tables/throughputs.json"
}

@test "a short trace on rates from a table under every policy" {
    "$corgi" sim --throughputs "$tables/throughputs.json" \
        --trace "$tables/short_trace.csv" --policy all --json > "$dir/a.json"
    assert_books_balance "$dir/a.json"
    jq -e '.rates == "measured" and .workload == "trace" and
        all(.rows[]; .finished == 20 and .load == null and .failed == 0) and
        ([.rows[].policy] | index("corgi") != null and index("fifo") != null)' "$dir/a.json"
    # The same work, whoever does it.
    jq -e '[.rows[].work_reference_gpu_hours] | (max / min - 1) < 1e-6' "$dir/a.json"
}

# What a row of `corgi sim --json` says of quotes, each between these bounds.
quoted() { # JSON KEY LEAST MOST ...
    python3 - "$@" <<'EOP'
import json
import sys

row = json.load(open(sys.argv[1]))["rows"][0]
for key, least, most in zip(*[iter(sys.argv[2:])] * 3):
    print(key, row["quoted_" + key])
    assert float(least) <= row["quoted_" + key] <= float(most), key
EOP
}

@test "rates quoted at 0.5, 0.8 and 0.95 are kept as often" {
    "$CORGI_BIN/corgi" sim -w standard -p corgi -l 70 --days 2 --seed 201 --seeds 6 -j \
        > "$BATS_TEST_TMPDIR/json"
    quoted "$BATS_TEST_TMPDIR/json" rate_kept50 0.46 0.54 rate_kept80 0.76 0.84 \
        rate_kept95 0.91 0.99
}

# At 70 % of the load of whole devices hardly anybody waits; at this one many do, for the
# ends of jobs whose length is told wrong or not at all.
@test "jobs that wait are told when they start" {
    "$CORGI_BIN/corgi" sim -w standard -p corgi -l 110 --share 1 --days 1 --seed 201 \
        --seeds 6 -j > "$BATS_TEST_TMPDIR/json"
    quoted "$BATS_TEST_TMPDIR/json" start_error_share 0 0.2 start_good_share 0.5 1 \
        start_told_share 0.5 1
}
