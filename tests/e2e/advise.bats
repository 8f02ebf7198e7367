#!/usr/bin/env bats
# corgi advise: an operator's own record against what Corgi would have done, without a daemon.

bats_require_minimum_version 1.5.0

setup() {
    corgi="$CORGI_BIN/corgi"
    example="$BATS_TEST_DIRNAME/../../examples/slurm"
    dir=$(mktemp -d)
    advise=("$corgi" advise --from-slurm "$example/sacct.txt" --slurm-nodes "$example/sinfo.txt" --policy fifo)
}

teardown() {
    rm -rf "$dir"
}

@test "the example tells energy, money, CO2, users, idle GPUs and how far to trust it" {
    run "${advise[@]}" --draws 5 --price 0.3 --co2 380
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"as-it-ran"*"corgi"*"fifo"* ]]
    [[ $output == *" EUR, "*" kg of CO2"* ]]
    [[ $output == *"Who gains and who loses"* ]]
    [[ $output == *"hold GPUs they hardly use"*"alan"* ]]
    [[ $output == *"Replay of the real schedule: "*"Energy is modelled"*"Assumed: as they ran"* ]]
}

@test "the replay of the real schedule meets the record within 5 %, in energy and in ends" {
    "${advise[@]}" --draws 3 --json > "$dir/a.json"
    jq -e '.replay | .jobs == 180 and .ended == 180 and .energy_error_percent < 5 and .ends_error_percent < 5' "$dir/a.json"
    jq -e '.policies[0].policy == "as-it-ran" and .policies[1].policy == "corgi"' "$dir/a.json"
    jq -e '.policies[1].against_as_it_ran_percent_ci > 0' "$dir/a.json"
}

@test "the same command gives the same bytes" {
    "${advise[@]}" --draws 2 --json > "$dir/a.json"
    "${advise[@]}" --draws 2 --json --threads 1 > "$dir/b.json"
    cmp "$dir/a.json" "$dir/b.json"
}

@test "--levers says what Corgi may do beside placing: without them it sleeps, shares and moves nothing" {
    "${advise[@]}" --draws 1 --json > "$dir/all.json"
    "${advise[@]}" --draws 1 --levers moves,sharing,caps,sleep --json > "$dir/same.json"
    cmp "$dir/all.json" "$dir/same.json"
    "${advise[@]}" --draws 1 --levers none --json > "$dir/none.json"
    "${advise[@]}" --draws 1 --levers sleep,sharing --json > "$dir/some.json"
    jq -e '.policies[1].moves_per_job == 0' "$dir/none.json"
    jq -e '.policies[1].moves_per_job == 0' "$dir/some.json"
    saved() { jq '.policies[1].against_as_it_ran_percent' "$dir/$1.json"; }
    awk "BEGIN { exit !($(saved all) < $(saved none) && $(saved some) < $(saved none)) }"
    run "${advise[@]}" --levers sleep,naps
    [ "$status" -eq 2 ]
    [[ $output == *"--levers knows moves, sharing, caps, sleep and none, not 'naps'"* ]]
}

@test "whoever holds GPUs without using them is named, as the counters say" {
    "${advise[@]}" --draws 1 --json > "$dir/a.json"
    jq -e '[.hardly_used[].user] == ["alan"] and .hardly_used[0].mean_use_percent < 5' "$dir/a.json"
    cut -d'|' -f1-14 "$example/sacct.txt" > "$dir/sacct.txt"
    "$corgi" advise --from-slurm "$dir/sacct.txt" --slurm-nodes "$example/sinfo.txt" --policy fifo --draws 1 --json > "$dir/a.json"
    jq -e '.hardly_used == []' "$dir/a.json"
}

@test "--since takes the last part, --out writes a page with all of it" {
    run "${advise[@]}" --draws 2 --since 2d --out "$dir/out"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"Left out: jobs that ended before the time asked for ("* ]]
    jq -e '.replay.jobs < 180 and .replay.jobs > 20' "$dir/out/advice.json"
    grep -q 'id="advice"' "$dir/out/report.html"
    grep -q 'Who gains and who loses' "$dir/out/report.html"
    [ -s "$dir/out/jobs.csv" ]
    command -v xmllint > /dev/null || skip "xmllint is not installed"
    xmllint --noout "$dir/out/report.html"
}

@test "a record without counters, a damaged counter and a user name of HTML do no harm" {
    sed '2s/JS1:[^|]*/JS1:H4sIAAAA/; 3s/|[a-z]*|/|<script>alert(1)|/' "$example/sacct.txt" > "$dir/sacct.txt"
    run "$corgi" advise --from-slurm "$dir/sacct.txt" --slurm-nodes "$example/sinfo.txt" --policy fifo --draws 1 --out "$dir/out"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"cannot be read: 1."* ]]
    run ! grep -q '<script' "$dir/out/report.html"
}

@test "of a record of seconds figures are told in units that say something, each with its interval" {
    {
        echo 'JobID|User|Submit|Start|End|AllocTRES|NNodes|NodeList|State'
        for i in 1 2 3; do
            echo "$i|ada|$((1000 + 4 * i))|$((1000 + 4 * i))|$((1003 + 4 * i))|gres/gpu:v100=1,gres/gpu=1|1|g1|COMPLETED"
        done
    } > "$dir/sacct.txt"
    printf 'NODELIST GRES\ng1 gpu:v100:1\n' > "$dir/sinfo.txt"
    tiny=("$corgi" advise --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" --policy fifo --draws 3 --price 0.3 --co2 380)
    run "${tiny[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"0.0 kWh"* && $output != *"0.0 days"* ]]
    [[ $output == *"energy J"* || $output == *"energy Wh"* ]]
    [[ $output == *"3 jobs of 0.2 minutes"* ]]
    # money, CO2, needs and waits have intervals as energy has; none of them is only zeros
    [[ $(grep '^corgi ' <<< "$output" | grep -o '±' | wc -l) -ge 7 ]]
    [[ $(grep '^as-it-ran' <<< "$output" | awk '{ print ($4 > 0) + ($6 > 0) }') == 2 ]]
    [ "$(grep '^ada' <<< "$output" | awk '{ print ($3 > 0) }')" = 1 ]
    "${tiny[@]}" --json | jq -e '.policies[1] | [.money_ci, .co2_kg_ci, .wait_p50_s_ci, .wait_p95_s_ci, .moves_per_job_ci] | all(type == "number")'
}

# Two nodes of a kind and twenty jobs at once for one of them: half of the time the other is free.
@test "jobs are kept to the nodes of their partition where that is told" {
    printf 'NODELIST GRES PARTITION\ng1 gpu:v100:1 a*\ng2 gpu:v100:1 b\n' > "$dir/sinfo.txt"
    {
        echo 'JobID|User|Submit|Start|End|AllocTRES|NNodes|NodeList|State|Partition'
        for i in $(seq 20); do
            echo "$i|ada|1000|$((1000 + 100 * i))|$((1100 + 100 * i))|gres/gpu:v100=1,gres/gpu=1|1|g1|COMPLETED|a"
        done
    } > "$dir/sacct.txt"
    bound=("$corgi" advise --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" --draws 1
        --policy "fifo,slurm-like,gavel-energy-packed" --json)
    "${bound[@]}" > "$dir/bound.json"
    jq -e '.notes | map(select(test("Kept: jobs whose partition is told \\(20\\)"))) | length == 1' "$dir/bound.json"
    sed -i 's/ b$/ a/' "$dir/sinfo.txt"
    "${bound[@]}" > "$dir/free.json"
    # as they ran it makes no difference; under every policy they wait less with both nodes
    jq -c '.policies[] | [.policy, .wait_p50_s]' "$dir/bound.json" "$dir/free.json"
    jq -s -e '[.[0].policies, .[1].policies] | transpose | map(.[0].wait_p50_s / .[1].wait_p50_s) |
              .[0] == 1 and all(.[1:][]; . > 1.5)' "$dir/bound.json" "$dir/free.json"
}

@test "what is missing is said" {
    run --separate-stderr "$corgi" advise --slurm-nodes "$example/sinfo.txt"
    [ "$status" -eq 2 ]
    [[ $stderr == *"--slurm-nodes needs --from-slurm FILE"* ]]
    run --separate-stderr "$corgi" advise --socket "$dir/nobody" # and no record to take
    [ "$status" -ne 0 ]
    [[ $stderr == *"$dir/nobody"* ]]
    run --separate-stderr "$corgi" advise --from-slurm "$dir/none"
    [ "$status" -eq 1 ]
    [[ $stderr == *"$dir/none"* ]]
}

@test "the example is what its tool writes" {
    mkdir -p "$dir/tools"
    cp "$BATS_TEST_DIRNAME/../../tools/make-slurm-example" "$dir/tools/"
    "$dir/tools/make-slurm-example"
    diff -r "$dir/examples/slurm" "$example"
}
