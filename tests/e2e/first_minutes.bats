#!/usr/bin/env bats
# The first minutes of somebody who has just built Corgi: every example of every --help and
# man page, what README shows and what ./quickstart suggests, run as printed on a fresh
# daemon, and once more after it was stopped and started.  The examples are taken from the
# texts; what they name (files, a node, jobs) the test puts there.
bats_require_minimum_version 1.5.0

# Left out, each with its reason.
left_out() { # command
    case $1 in
    ./test* | */test\ * | ./quickstart*) echo "this runs inside the tests" ;;
    cmake\ --install*) echo "in packaging.bats" ;;
    "corgi slurm detach"*) echo "in slurm_control.bats, beside a Slurm" ;;
    *) return 1 ;;
    esac
}

# The same command in seconds instead of minutes or hours: what is added to it.
shorter() { # command
    case $1 in
    "corgi sim --from-slurm"*) echo " --policy corgi,fifo" ;;
    "corgi advise"*) echo " --policy fifo --draws 2" ;;
    "corgi sim"*--trace*) echo " --policy corgi --limit 20" ;;
    "corgi sim"*) echo " --seeds 1 --days 0.05 --limit 20" ;;
    "corgi train"*) echo " --worlds 3 --steps 3" ;;
    "corgi eval"*) echo " --seeds 1 --arch baseline" ;;
    esac
}

# These go on until they are interrupted.
endless() { # command
    [[ $1 == "corgi top"* || $1 == "corgi watch"* || $1 == *--watch* && $1 != *--count* || $1 == *--follow* ]]
}

# These need a terminal.
on_terminal() { # command
    [[ $1 == "corgi top"* ]]
}

# examples_of PROGRAM [COMMAND...]: of its help and of all its commands' helps
examples_of() {
    local text child

    text=$("$@" --help)
    sed -n '/^Examples:$/,/^$/s/^  //p' <<< "$text"
    while read -r child; do
        examples_of "$@" "$child"
    done < <(sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' <<< "$text")
}

examples_of_man() { # folder
    sed -n '/^\.SH EXAMPLES$/,/^\.fi$/{/^\./!p}' "$1"/*.1 | sed 's/\\-/-/g; s/\\e/\\/g; s/\\&//g'
}

# Commands of README's indented blocks, without the comments behind them.
examples_of_readme() {
    sed -n 's/^    \(\.\/\|corgi [a-z]\|corgid \|export \|source \|cmake \)/\1/p' \
        "$BATS_TEST_DIRNAME/../../README.md" | sed 's/ \{2,\}#.*//; s/ *$//'
}

setup_file() {
    export work=$BATS_FILE_TMPDIR/work
    export CORGI_SOCKET=$BATS_FILE_TMPDIR/s CORGI_SPOOL=$BATS_FILE_TMPDIR/spool
    export PATH=$CORGI_BIN:$PATH
    mkdir -p "$work" "$BATS_FILE_TMPDIR/run/corgi"
    cd "$work" || return
    data=$BATS_TEST_DIRNAME/../data/measured-like
    printf '#!/bin/sh\n#CORGI --min-rate 5 --steps 1e5 --family CNN-CIFAR --model conv --batch 128 --gmac 0.025 --params 5.6 --sample-mb 2.1\necho step 1/3\n' > train.sh
    printf '#!/bin/sh\nsleep 1\n' | tee serve train > job.sh
    echo 'print("step 1/3")' > train.py
    chmod +x train.sh serve train job.sh
    corgi config show > corgi.yaml
    corgi config show --kind cluster > mine.yaml
    corgi config show --kind daemon > corgid.yaml
    cp "$data/throughputs.json" rates.json
    cp "$data/throughputs.json" RATES.json
    cp "$data/short_trace.csv" JOBS.csv
    cp "$data/descriptors.csv" .
    write_rates > rates.csv
    write_slurm
    mkdir -p weights build/release
    ln -s "$CORGI_BIN" build/release/bin
    ln -s "$BATS_TEST_DIRNAME/../../examples" examples
    cat > cluster.yaml << 'END'
nodes:
  - {gpu: k80, gpus: 4, count: 4, name: kepler}
  - {gpu: p100, gpus: 4, count: 4, name: pascal}
  - {gpu: v100, gpus: 4, count: 3, name: volta}
  - {gpu: v100, gpus: 4, name: gpu07}
END
    printf 'state: %s\nlisten: {socket: %s}\nsim: {cluster_file: %s}\n' \
        "$BATS_FILE_TMPDIR/state" "$CORGI_SOCKET" "$work/cluster.yaml" > daemon.yaml
    start_daemon
    export USER=${USER:-$(id -un)}
    corgi store backup "$BATS_FILE_TMPDIR/state/corgi.db" corgi.db > /dev/null
    # The examples speak of job 7.
    for i in $(seq 7); do
        corgi submit --name "first-$i" --family CNN-CIFAR --model conv --batch 128 --gmac 0.025 --params 5.6 \
            --sample-mb 2.1 --min-rate 10 --steps 1e7 -- python train.py > /dev/null
    done
}

# A table of four jobs on two cards, alone and in pairs.
write_rates() {
    echo gpu,job,family,rate,corunner,corunner_rate
    for gpu in 1:k80 3:v100; do
        for a in 1 2 3 4; do
            echo "${gpu#*:},job-$a,family-$a,$((${gpu%:*} * a * 10)),,"
            for b in 1 2 3 4; do
                echo "${gpu#*:},job-$a,family-$a,$((${gpu%:*} * a * 6)),job-$b,$((${gpu%:*} * b * 6))"
            done
        done
    done
}

write_slurm() {
    echo 'JobID|User|JobName|Submit|Start|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|State' > sacct.txt
    for i in $(seq 10 29); do
        printf '%d|ada|train|2024-03-01T08:%d:00|2024-03-01T08:%d:00|01:30:00|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1|1|gpu01|COMPLETED\n' \
            "$i" "$i" "$i"
    done >> sacct.txt
    printf 'NODELIST GRES CPUS MEMORY\ngpu[01-02] gpu:v100:4(S:0-1) 64 512000\n' > sinfo.txt
}

start_daemon() {
    corgid --config "$work/daemon.yaml" 2>> "$BATS_FILE_TMPDIR/log" 3>&- &
    echo $! > "$BATS_FILE_TMPDIR/pid"
    for _ in $(seq 200); do
        corgi nodes > /dev/null 2>&1 && return 0
        sleep 0.1
    done
    cat "$BATS_FILE_TMPDIR/log"
    return 1
}

stop_daemon() {
    local pid

    pid=$(< "$BATS_FILE_TMPDIR/pid")
    kill "$pid" 2> /dev/null || return 0
    while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
}

teardown_file() {
    stop_daemon
}

# Places of an installed daemon are places of this test's.
here() {
    sed "s|/var/lib/corgi|$BATS_FILE_TMPDIR/state|g; s|/etc/corgi/|$work/|g; s|/run/|$BATS_FILE_TMPDIR/run/|g"
}

# run_as_printed FILE: every line of it; what fails is told
run_as_printed() {
    local line status wrong=0 reason text runner

    cd "$work" || return
    while IFS= read -r line; do
        if reason=$(left_out "$line"); then
            echo "left out: $line ($reason)"
            continue
        fi
        status=0
        text=$(here <<< "$line")$(shorter "$line")
        runner=(bash -c "$text")
        on_terminal "$line" && runner=(env TERM=xterm script -qec "$text" /dev/null)
        timeout "$(endless "$line" && echo 2 || echo 500)" \
            "${runner[@]}" < /dev/null > out.txt 2> err.txt || status=$?
        if ((status == 0)) || { endless "$line" && ((status == 124)); }; then
            continue
        fi
        echo "not as printed ($status): $line"
        tail -n 3 out.txt err.txt
        wrong=$((wrong + 1))
    done < "$1"
    return $((wrong > 0))
}

no_promise_broken() {
    curl -sS --unix-socket "$CORGI_SOCKET" http://corgi/metrics | grep -qx 'corgi_promises_broken 0'
}

collect() {
    {
        examples_of corgi
        examples_of corgid
        examples_of corgi-probe
        examples_of corgi-report
    } > "$BATS_FILE_TMPDIR/help.txt"
    mkdir -p "$BATS_FILE_TMPDIR/man"
    corgi man --out "$BATS_FILE_TMPDIR/man"
    corgid --man-page > "$BATS_FILE_TMPDIR/man/corgid.1"
    corgi-probe --man-page > "$BATS_FILE_TMPDIR/man/corgi-probe.1"
    corgi-report --man-page > "$BATS_FILE_TMPDIR/man/corgi-report.1"
    examples_of_man "$BATS_FILE_TMPDIR/man" > "$BATS_FILE_TMPDIR/man.txt"
}

@test "helps and man pages have the same examples, and hardly any is left out here" {
    collect
    [ "$(wc -l < "$BATS_FILE_TMPDIR/help.txt")" -ge 40 ]
    diff <(sort "$BATS_FILE_TMPDIR/help.txt") <(sort "$BATS_FILE_TMPDIR/man.txt")
    count=0
    while IFS= read -r line; do
        if left_out "$line" > /dev/null; then count=$((count + 1)); fi
    done < "$BATS_FILE_TMPDIR/help.txt"
    [ "$count" -le 4 ]
}

@test "every example of a help or man page works as printed" {
    run_as_printed "$BATS_FILE_TMPDIR/help.txt"
}

@test "README's commands work as printed, one after the other in a shell" {
    examples_of_readme > "$BATS_FILE_TMPDIR/readme.txt"
    [ "$(wc -l < "$BATS_FILE_TMPDIR/readme.txt")" -ge 15 ]
    cd "$work"
    # Its own daemon, of a new folder.
    while IFS= read -r line; do
        left_out "$line" > /dev/null || echo "${line//\/tmp\/corgi/$BATS_FILE_TMPDIR/c}$(shorter "$line")"
        # Who types takes longer than this to get to the next line.
        [[ $line != corgid* ]] || echo "until [ -S $BATS_FILE_TMPDIR/c.sock ]; do sleep 0.1; done"
    done < "$BATS_FILE_TMPDIR/readme.txt" > readme.sh
    echo 'kill %1; wait %1' >> readme.sh
    cat readme.sh
    env -u CORGI_SOCKET PATH=/usr/local/bin:/usr/bin:/bin bash -e -o pipefail readme.sh > readme.out 2> readme.err || {
        tail -n 5 readme.out readme.err
        false
    }
    # The daemon's log is not in the terminal one types in.
    [ ! -s readme.err ]
}

@test "no promise that was given is broken" {
    for _ in $(seq 60); do # what was not known before is measured first
        sleep 0.5
        no_promise_broken && break
    done
    corgi queue
    no_promise_broken
}

@test "after a stop and a start they work again" {
    stop_daemon
    start_daemon
    rm -f "$work/monday.db"
    grep -v "corgi sim\|corgi advise\|corgi eval\|corgi train\|corgi bench" "$BATS_FILE_TMPDIR/help.txt" > "$BATS_FILE_TMPDIR/again.txt"
    run_as_printed "$BATS_FILE_TMPDIR/again.txt"
    for _ in $(seq 60); do
        sleep 0.5
        no_promise_broken && break
    done
    corgi queue
    no_promise_broken
}

@test "what quickstart suggests works as printed, again after a stop and a start" {
    tool=$BATS_TEST_DIRNAME/../../tools/quickstart-daemon
    for _ in first second; do
        "$tool" start "$CORGI_BIN" "$BATS_FILE_TMPDIR/quick" > "$BATS_FILE_TMPDIR/said.txt"
        # Two blanks, a command, two blanks or more, what it is for; a page is fetched.
        sed -n 's/^  //p' "$BATS_FILE_TMPDIR/said.txt" |
            sed 's/ \{2,\}.*//; s/^\(http:[^#]*\).*/curl -fsS \1/' > "$BATS_FILE_TMPDIR/suggested.txt"
        [ "$(wc -l < "$BATS_FILE_TMPDIR/suggested.txt")" -ge 8 ]
        grep -q 'quickstart-daemon stop' "$BATS_FILE_TMPDIR/suggested.txt"
        grep '^export ' "$BATS_FILE_TMPDIR/suggested.txt" > "$BATS_FILE_TMPDIR/environment"
        (
            # shellcheck disable=SC1091
            source "$BATS_FILE_TMPDIR/environment"
            run_as_printed "$BATS_FILE_TMPDIR/suggested.txt"
        )
    done
}
