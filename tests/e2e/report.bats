#!/usr/bin/env bats
# The report of corgi sim --out: well-formed, alone in the world, the same bytes twice.

bats_require_minimum_version 1.5.0

setup() {
    corgi="$CORGI_BIN/corgi"
    out=$(mktemp -d)
}

teardown() {
    rm -r "$out"
}

simulate() { # directory, option...
    local dir=$1
    shift
    "$corgi" sim --out "$dir" --days 0.3 --seeds 2 --load 30,80 "$@" > /dev/null
}

@test "the page is there with every section and every policy" {
    simulate "$out" --policy all
    local page="$out/report.html"
    for id in rows energy against promises pareto parts ingredients learning timeline \
        basis reading again; do
        grep -q "<section id=\"$id\">" "$page"
        grep -q "href=\"#$id\"" "$page"
    done
    for policy in corgi corgi-noshare oracle fifo fastest pack-blind; do
        [ "$(grep -c "<th scope=\"row\"[^>]*>$policy" "$page")" -ge 2 ]
    done
    grep -q 'class="span training"' "$page"
    grep -q 'aria-label="Table of quarters"' "$page"
    # Goals of Corgi's developers are for the run they are set for.
    run ! grep -q 'id="goals"' "$page"
}

@test "the cluster, the load and what it means are at the top" {
    simulate "$out"
    grep -q 'The cluster: 16 k80, 16 p100-16 and 16 v100-16 in 12 nodes. The load is the share' "$out/report.html"
    run ! grep -q '<h1>.*,\.' "$out/report.html"
}

@test "a report of Slurm's jobs names them and the nodes" {
    {
        echo "JobID|User|JobName|Submit|Start|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|State"
        for i in $(seq 10 29); do
            echo "$i|ada|train|2024-03-01T08:$i:00|2024-03-01T08:$i:00|01:30:00|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1|1|rack4-gpu01|COMPLETED"
        done
    } > "$out/sacct.txt"
    printf 'NODELIST GRES CPUS MEMORY\nrack4-gpu[01-02] gpu:v100:4(S:0-1) 64 512000\n' > "$out/sinfo.txt"
    "$corgi" sim --from-slurm "$out/sacct.txt" --slurm-nodes "$out/sinfo.txt" --policy corgi,fifo --out "$out" > /dev/null
    grep -q 'the jobs of your Slurm cluster, as they came' "$out/report.html"
    grep -q 'ack4-gpu02' "$out/report.html"
    run ! grep -q 'workload “standard”' "$out/report.html"
}

@test "the page is well-formed" {
    command -v xmllint > /dev/null || skip "xmllint is not installed"
    simulate "$out"
    xmllint --noout "$out/report.html"
    simulate "$out" --policy fifo --load 50 --seeds 1
    xmllint --noout "$out/report.html"
}

@test "the page refers to nothing outside and runs nothing" {
    simulate "$out" --policy all
    run ! grep -nE 'https?:|//|url\(|@import|<script|<link|<img|<iframe|javascript:| on[a-z]+=' \
        "$out/report.html"
}

@test "ids are given once and every label has its id" {
    simulate "$out"
    local page="$out/report.html" ids used
    ids=$(grep -o ' id="[^"]*"' "$page" | cut -d '"' -f 2 | sort)
    used=$(grep -o 'aria-labelledby="[^"]*"' "$page" | cut -d '"' -f 2 | tr ' ' '\n' | sort)
    [ -n "$used" ]
    [ -z "$(uniq -d <<< "$ids")" ]
    [ -z "$(comm -13 <(echo "$ids") <(echo "$used"))" ]
}

@test "the same command gives the same bytes, whatever the threads and the directory" {
    simulate "$out/a" --threads 1
    simulate "$out/b" --threads 2
    cmp "$out/a/report.html" "$out/b/report.html"
}

@test "a report changes no result" {
    simulate "$out" --json
    "$corgi" sim --days 0.3 --seeds 2 --load 30,80 --json | cmp - "$out/sim.json"
}

@test "the command on the page gives the page again" {
    simulate "$out/a" --policy corgi,fastest --share 1 --mtbf 12h --seed 7
    local command
    command=$(sed -n 's/.*<pre><code>corgi \(.*\) --out DIR<\/code>.*/\1/p' \
        "$out/a/report.html")
    [[ $command == sim\ * ]]
    # shellcheck disable=SC2086  # words of a command line
    "$corgi" $command --out "$out/b" > /dev/null
    cmp "$out/a/report.html" "$out/b/report.html"
}

@test "a hostile directory name does no harm" {
    command -v xmllint > /dev/null || skip "xmllint is not installed"
    local dir="$out/<b>&\"x'"
    mkdir -p "$dir"
    "$corgi" sim --days 1 --seeds 1 --load 30 --policy fifo --out "$dir" > /dev/null
    xmllint --noout "$dir/report.html"
}

@test "a directory that cannot be made is a failure" {
    : > "$out/file"
    run --separate-stderr "$corgi" sim --days 1 --seeds 1 --load 30 --out "$out/file/x"
    [ "$status" -eq 1 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
}
