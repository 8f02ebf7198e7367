#!/usr/bin/env bats
# corgi sim --from-slurm: an operator's own jobs and nodes; and the pods of Alibaba.

bats_require_minimum_version 1.5.0

setup() {
    corgi="$CORGI_BIN/corgi"
    dir=$(mktemp -d)
    pods="$CORGI_DATA/alibaba/openb_pod_list_gpuspec33.csv"
    {
        echo "JobID|User|JobName|Submit|Start|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|State"
        for i in $(seq 10 49); do
            echo "$i|user$((i % 3))|job$((i % 5))|2024-03-01T08:$i:00|2024-03-01T08:$i:00|0$((i % 4)):30:00|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1|1|gpu0$((i % 4 + 1))|COMPLETED"
            echo "$i.batch||batch|2024-03-01T08:$i:00|2024-03-01T08:$i:00|00:30:00|cpu=8||1|gpu01|COMPLETED"
        done
        echo "90|user1|cpu|2024-03-01T09:00:00|2024-03-01T09:00:00|01:00:00|cpu=64|cpu=64|1|c01|COMPLETED"
    } > "$dir/sacct.txt"
    cat > "$dir/sinfo.txt" <<'NODES'
NODELIST GRES CPUS MEMORY
c01 (null) 64 256000
gpu[01-02] gpu:v100:4(S:0-1) 64 512000
gpu[03-04] gpu:tesla_k80:8(S:0-1) 64 512000
NODES
}

teardown() {
    rm -rf "$dir"
}

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

@test "own jobs on own nodes, and what is assumed is said" {
    run "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" --policy corgi,fifo
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"40/40"* ]]
    [[ $output == *"jobs on GPUs: 40; left out: without GPUs 1, never ran 0"* ]]
    [[ $output == *"needs 90 % of the rate it had"* ]]
    [[ $output == *"4 nodes with 24 GPUs"* ]]
}

@test "the JSON has the notes and is the same again" {
    local command=("$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt"
        --policy fifo --json)
    "${command[@]}" > "$dir/a.json"
    "${command[@]}" > "$dir/b.json"
    cmp "$dir/a.json" "$dir/b.json"
    jq -e '.workload == "slurm" and (.notes | length >= 4) and .rows[0].finished == 40' "$dir/a.json"
}

@test "with every job alone on its own type nobody falls short: the needs are those they had" {
    # One type and a GPU for each: no policy can place a job worse than it ran.
    sed -i '/k80/d; s/v100:4/v100:32/' "$dir/sinfo.txt"
    "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" \
        --slurm-types gpu=v100 --policy fifo --mtbf 0 --sleep off --json > "$dir/a.json"
    jq -e '.rows[0].sla_time == 1 and .rows[0].sla_jobs == 1' "$dir/a.json"
}

@test "other cards can be tried, also when the old ones go" {
    run "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" \
        --replace k80:16=l4:4 --policy fifo
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"40/40"* ]]
}

@test "a load takes a part of the jobs" {
    "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-nodes "$dir/sinfo.txt" --load 20,40 \
        --days 0.5 --seeds 2 --policy fifo --json > "$dir/a.json"
    jq -e '[.rows[].load] == [0.2, 0.4] and .rows[1].jobs > .rows[0].jobs' "$dir/a.json"
}

@test "without a type of GPU and without nodes it says what to give" {
    assert_refused 1 "--slurm-nodes" "$corgi" sim --from-slurm "$dir/sacct.txt" --policy fifo
    run "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-types gpu=a100 --policy fifo
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"the most in use at once"* ]]
}

@test "a bad line is refused by file and line" {
    sed -i '4s/2024/yesterday/' "$dir/sacct.txt"
    assert_refused 1 "sacct.txt:4: Submit" "$corgi" sim --from-slurm "$dir/sacct.txt" \
        --slurm-nodes "$dir/sinfo.txt"
    sed -i '3s/v100/gizmo/' "$dir/sinfo.txt"
    assert_refused 1 "sinfo.txt:3: no GPU 'gizmo'" "$corgi" sim --from-slurm "$dir/sacct.txt" \
        --slurm-nodes "$dir/sinfo.txt"
    assert_refused 1 "nothing.txt" "$corgi" sim --from-slurm "$dir/nothing.txt"
}

@test "options that do not go together are wrong use" {
    assert_refused 2 "exclude" "$corgi" sim --from-slurm "$dir/sacct.txt" --trace x.csv
    assert_refused 2 "--from-slurm" "$corgi" sim --slurm-nodes "$dir/sinfo.txt"
    assert_refused 2 "NAME=CARD" "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-types v100
    assert_refused 2 "catalogue" "$corgi" sim --from-slurm "$dir/sacct.txt" --slurm-types a=b
}

@test "the pods of Alibaba play on its mix of GPUs" {
    [ -r "$pods" ] || skip "Alibaba's pod list is not in CORGI_DATA"
    "$corgi" sim --arrivals "$pods" --arrivals-format alibaba --load 30 --days 0.2 --seeds 1 \
        --limit 300 --policy fifo --json > "$dir/a.json"
    jq -e '.rows[0].jobs > 100 and .rows[0].finished > 0' "$dir/a.json"
}

@test "a cluster can be named" {
    "$corgi" sim --cluster alibaba-small --limit 20 --load 30 --seeds 1 --policy fifo --json > "$dir/a.json"
    jq -e '.rows[0].jobs == 20' "$dir/a.json"
    assert_refused 1 "no-such.yaml" "$corgi" sim --cluster no-such.yaml
}
