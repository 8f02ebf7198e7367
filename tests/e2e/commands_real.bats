#!/usr/bin/env bats
# Every command of corgi that asks a daemon, against a real one: what it did is read back
# through the API or the store.
#
# The last case compares what was run with the commands whose help names --socket, so that a
# command without a case fails.

load ../support/corgid.bash

setup_file() { : > "$BATS_FILE_TMPDIR/ran"; }
setup() { corgid_folder; }
teardown() { corgid_clean; }

# Run a command of corgi with the daemon's socket; sets $status, $output and $lines.
corgi() { # COMMAND [SUBCOMMAND] ARGUMENT...
    case $1 in
    policy | quota | slurm | token | store | config) echo "$1 $2" >> "$BATS_FILE_TMPDIR/ran" ;;
    *) echo "$1" >> "$BATS_FILE_TMPDIR/ran" ;;
    esac
    run env CORGI_SOCKET="$CORGID_SOCKET" timeout 60 "$CORGI_BIN/corgi" "$@"
    echo "$output"
}

holds() { # PATH EXPRESSION: jq's, of what the API answers
    api GET "$1" | jq -e "$2" > /dev/null || {
        api GET "$1"
        return 1
    }
}

@test "submit: the job is in the daemon as the options say" {
    corgid_start
    cd "$CORGID_DIR"
    corgi submit --name trial --steps 1e9 --min-rate 0.01 --types v100-16 --priority 7 \
        --exclusive --no-move --family bert --batch 32 --hold -- sh -c 'echo "a b"'
    [ "$status" -eq 0 ]
    [[ $output == "Submitted job 1"* && $output == *"promised  not yet"* ]]
    holds /v1/jobs/1 '.name == "trial" and .total_steps == 1e9 and .need.rate == 0.01
        and .types == ["v100-16"] and .priority == 7 and (.share | not) and (.move | not)
        and .descriptor.family == "bert" and .descriptor.batch == 32 and .state == "held"
        and .command == ["sh", "-c", "echo \"a b\""]'
    holds /v1/jobs/1 ".directory == \"$CORGID_DIR\" and .environment.PATH == \"$PATH\""
    corgi submit --memory 1e4 -- true
    [ "$status" -eq 1 ]
    holds '/v1/jobs?state=active' '.total == 1'
}

@test "submit: a script's own options count, the command line's win" {
    corgid_start
    cd "$CORGID_DIR"
    printf '#!/bin/sh\n#CORGI --name fromscript --steps 50\n#CORGI --priority 3\ntrue\n' > job.sh
    chmod +x job.sh
    corgi submit --priority 4 job.sh one two
    [ "$status" -eq 0 ]
    holds /v1/jobs/1 '.name == "fromscript" and .total_steps == 50 and .priority == 4
        and .command[0] == "/bin/sh" and (.command[1] | endswith("/job.sh"))
        and .command[2:] == ["one", "two"]'
    wait_state 1 "done"
}

@test "submit: the usual environment, no secret unless it is asked for" {
    corgid_start
    export MY_SECRET=hunter2
    corgi submit --hold -- true
    holds /v1/jobs/1 ".environment.PATH == \"$PATH\" and (.environment | has(\"MY_SECRET\") | not)"
    corgi submit --hold --export USUAL,MY_SECRET,PATH=/bin -- true
    holds /v1/jobs/2 '.environment.MY_SECRET == "hunter2" and .environment.PATH == "/bin"'
    corgi submit --hold --export ALL -- true
    holds /v1/jobs/3 '.environment.MY_SECRET'
    corgi submit --hold --export NONE -- true
    holds /v1/jobs/4 '.environment == {}'
    corgi submit --gpus 100 -- true
    [ "$status" -eq 2 ]
    [[ $output == *"--gpus takes 64 at most: "* ]]
}

# What a command prints on a terminal of so many columns, without colours.
on_terminal() { # COLUMNS COMMAND...
    local columns=$1
    shift
    CORGI_SOCKET=$CORGID_SOCKET TERM=xterm script -qec "stty cols $columns; $CORGI_BIN/corgi $*" /dev/null |
        tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g'
}

@test "tables fit a terminal of 80 columns, and lose nothing where there is no terminal" {
    corgid_start
    long=train-resnet-50-bs-256
    corgi submit --name "$long" --steps 1e9 --min-rate 0.01 -- true
    corgi submit --name other --gpus 4 --steps 1e9 -- true
    corgi submit --name third --hold -- true
    corgi token make "$(id -un)" --role viewer
    wait_state 1 running
    for command in queue nodes "energy --by job" "energy --by user" "estimates 1" "policy show" "quota list" "token list"; do
        # shellcheck disable=SC2086
        on_terminal 80 $command > "$CORGID_DIR/shown" || true
        [ -s "$CORGID_DIR/shown" ]
        # Sentences around a table are broken by the terminal.
        awk -v what="$command" 'length($0) > 80 && !/^together/ { print what ": " length($0) ": " $0; bad = 1 } END { exit bad }' "$CORGID_DIR/shown"
    done
    on_terminal 80 queue | grep -q "$long"
    corgi queue
    [[ $output == *USER*GPUS*ENERGY*WHERE* ]]
}

@test "advise: what it says is published, and the dashboard's route has it" {
    corgid_start
    example=$BATS_TEST_DIRNAME/../../examples/slurm
    corgi advise --from-slurm "$example/sacct.txt" --slurm-nodes "$example/sinfo.txt" --policy fifo --draws 1 --publish
    [ "$status" -eq 0 ]
    holds /v1/advice '.published.advice | .replay.jobs == 180 and .policies[1].policy == "corgi"
        and (.by_day | length == 4 and all(.gpu_kwh_was > 0)) and (.notes[0] | startswith("Corgi would have "))'
    CORGID_SOCKET=/nowhere corgi advise --from-slurm "$example/sacct.txt" --policy fifo --draws 1 --publish
    [ "$status" -eq 1 ]
}

@test "quote: promises, counter-offers and changes, and nothing is submitted" {
    corgid_start
    corgi quote --min-rate 0.01 --steps 1e6
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = unpromised ]
    known_kind '"total_steps": 1e12'
    corgi quote --min-rate 0.01 --steps 1e6 --what-if type=v100-16,gpus=2,rate=1e8
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == "as asked "*" accepted "*" 0.01 "* ]]
    [[ ${lines[2]} == "type=v100-16 "*" accepted "*" v100-16 "* ]]
    [[ ${lines[4]} == "rate=1e8 "*" counter "* ]]
    corgi quote --min-rate 1e8
    [ "$status" -eq 1 ]
    offered=$(api POST /v1/quotes '{"job": {"need": {"kind": "rate", "rate": 1e8}}}' |
        jq -r '.quote.counter_offers[0].text')
    [ -n "$offered" ]
    [[ $output == *"$offered"* ]]
    holds '/v1/jobs?state=active' '.jobs == []'
}

@test "queue and show: what the API has" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    corgi submit --name runs --steps 1e9 -- true
    corgi submit --name rests --hold -- true
    wait_state 1 running
    corgi queue --parsable --user nobody
    [[ $output == JOBID\|NAME\|* ]]
    corgi queue --user nobody
    [[ $output == "no job waits or runs of those asked for; "* ]]
    corgi queue --parsable
    [[ ${lines[0]} == JOBID\|NAME\|* ]]
    [[ $output == *"1|runs|"*"|running|"* && $output == *"2|rests|"*"|held|"* ]]
    corgi queue --state held --json
    [ "$(jq -c '[.jobs[].id]' <<< "$output")" = "[2]" ]
    corgi queue --node "$(api GET /v1/jobs/1 | field devices.0.node)" --json
    [ "$(jq -c '[.jobs[].id]' <<< "$output")" = "[1]" ]
    corgi show 1
    [[ $output == *"started         20"*"(simulated)"* && $output == *"0 of 1,000,000,000 steps"* ]]
    [[ $output != *e+* ]]
    corgi show abc
    [ "$status" -eq 2 ]
    corgi show 1 --json
    [ "$(jq -c '[.id, .name, .state]' <<< "$output")" = '[1,"runs","running"]' ]
    corgi show 1 --history
    [[ $output == *submitted*started* ]]
    corgi show 4711
    [ "$status" -eq 1 ]
    corgi logs 1
    [[ $output == *"is simulated"* ]]
}

@test "hold, release, requeue and cancel: the job does it, and keeps the reason" {
    CORGID_SPEED=1 corgid_folder
    corgid_start
    api PUT "/v1/quotas/$(id -un)" '{"max_running": 0}' > /dev/null
    corgi submit --steps 1e9 -- true
    corgi hold 1 --reason 'until noon'
    [ "$output" = "1 is held" ]
    holds /v1/jobs/1 '.state == "held" and .reason == "until noon"'
    corgi release 1
    [ "$status" -eq 0 ]
    holds /v1/jobs/1 '.state == "waiting"'
    corgi release 1
    [ "$status" -eq 1 ]
    [[ $output == *"not held"* ]]
    api PUT "/v1/quotas/$(id -un)" '{"max_running": null}' > /dev/null
    wait_state 1 running
    corgi requeue 1 --reason 'other data'
    [ "$status" -eq 0 ]
    for _ in $(seq 100); do holds /v1/jobs/1 '.attempt == 2' > /dev/null && break; sleep 0.1; done
    holds /v1/jobs/1 '.attempt == 2'
    corgi cancel 1 4711 --reason enough
    [ "$status" -eq 1 ] # of the second there is none, the first is cancelled all the same
    holds /v1/jobs/1 '.state == "cancelled" and .reason == "enough"'
}

@test "update: the job needs something else, and an offer is taken" {
    corgid_start
    corgi submit --steps 1e9 --min-rate 1e-6 --name slow -- true
    corgi update 1 --min-rate 2e-6 --steps 2e9 --name slower
    [ "$status" -eq 0 ]
    [[ $output == "Job 1 is changed"* ]]
    holds /v1/jobs/1 '.need.rate == 2e-6 and .total_steps == 2e9 and .name == "slower"'
    corgi update 1 --accept
    [ "$status" -ne 0 ]
    [[ $output == *"was offered nothing"* ]]
    corgi update 1 --accept --min-rate 1
    [ "$status" -eq 2 ]
    corgi submit --steps 1e9 --min-rate 1e6 --name greedy -- sleep 4711 # a kind nobody knows
    for _ in $(seq 400); do holds /v1/jobs/2 '.promise == "offered"' > /dev/null && break; sleep 0.05; done
    offered=$(api GET /v1/jobs/2 | field offered_rate)
    corgi update 2 --accept
    [ "$status" -eq 0 ]
    holds /v1/jobs/2 ".need.rate < 1e6 and .need.rate > 0 and .need.rate >= 0.5 * $offered"
}

@test "why and estimates: the ledger's and the model's answers" {
    corgid_start
    corgi submit --steps 1e9 --name trial --no-move -- true
    wait_state 1 running
    corgi why 1
    [ "$status" -eq 0 ]
    [[ $output == *"start on $(api GET /v1/jobs/1 | field devices.0.name)"* ]]
    [[ $output == *"$(api GET '/v1/decisions?job=1' | field decisions.0.alternatives.0.text)"* ]]
    corgi why 1 --json
    [ "$(jq '.decisions[0].job' <<< "$output")" = 1 ]
    corgi estimates 1 --parsable
    [ "${#lines[@]}" -eq 4 ] # a title and three types
    corgi estimates 1 --type k80 --json
    shown=$(jq '.cells[0].watts.value' <<< "$output")
    holds '/v1/estimates?job=1&type=k80&beside=none' ".cells[0].watts.value == $shown"
}

@test "nodes, drain and resume: what operators see and say" {
    corgid_start
    corgi nodes --devices --parsable
    [ "${#lines[@]}" -eq 49 ] # a title and 48 GPUs
    corgi nodes
    [ "${#lines[@]}" -eq 14 ] # a title, 12 nodes and the sum
    [[ ${lines[13]} == "together 12 nodes, "*"48 GPUs (16 k80, 16 p100-16, 16 v100-16): 0 busy"*"0 jobs"*"(simulated)" ]]
    corgi drain kepler-2 volta-1:3 --reason 'new fan'
    [ "$status" -eq 0 ]
    holds /v1/nodes/kepler-2 '.drained and .reason == "new fan"'
    holds /v1/devices/volta-1:3 '.state == "drained" and .reason == "new fan"'
    corgi nodes kepler-2 --json
    jq -e '.drained' <<< "$output"
    corgi resume kepler-2 volta-1:3
    [ "$status" -eq 0 ]
    holds /v1/nodes/kepler-2 '.drained | not'
    holds '/v1/devices?state=drained' '.devices == []'
    corgi resume kepler-2:9
    [ "$status" -eq 1 ]
    [[ $output == *"no device 'kepler-2:9'"* ]]
    holds /v1/nodes '[.nodes[] | select(.state == "down")] == []'
}

@test "completion: jobs, nodes, GPUs, types and settings of this daemon" {
    corgid_start
    corgi submit --hold -- true
    for line in 'corgi cancel =1' 'corgi show =1' 'corgi drain kepler-3=kepler-3' \
        'corgi drain volta-1:2=2' 'corgi nodes pascal-2=pascal-2' \
        'corgi queue --type p=p100-16' 'corgi policy set mov=moves= move_s='; do
        # shellcheck disable=SC2016  # for the inner shell
        run env CORGI_SOCKET="$CORGID_SOCKET" bash -c 'set -u
            source <("$1" completion bash); PATH=$(dirname "$1"):$PATH
            COMP_LINE=$2 COMP_POINT=${#2}; read -ra COMP_WORDS <<< "${2//:/ : }"
            [[ $2 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _corgi; echo "${COMPREPLY[*]-}"' _ "$CORGI_BIN/corgi" "${line%%=*}"
        echo "$line: $output"
        [[ " $output " == *" ${line#*=} "* ]]
    done
}

@test "doctor: the daemon it asks is the one that answers" {
    corgid_start
    corgi doctor --config "$CORGID_DIR/c.yaml"
    [ "$status" -eq 0 ]
    [[ $output == *"ready at the Unix socket $CORGID_SOCKET"* ]]
}

@test "policy preview: both runs, the policy stays, and the daemon answers meanwhile" {
    corgid_start
    for i in 1 2 3 4 5 6; do
        corgi submit --name "p$i" --steps 1e6 --min-rate 5 --family CNN --batch 32 -- true
    done
    wait_state 6 running
    corgi policy preview sleep=no
    [ "$status" -eq 0 ]
    [[ $output == *"FIGURE"*"NOW"*"THEN"*"energy"*"kWh"* && $output == *"nobody comes"* ]]
    holds /v1/policy '.sleep'
    api POST /v1/policy/preview '{"sleep": false, "hours": 1}' > "$CORGID_DIR/preview" &
    preview=$!
    holds /v1/summary '.jobs.running >= 1'
    wait "$preview"
    # Nodes that may not sleep cost more; who runs goes on; the books are of one hour.
    jq -e '.jobs >= 1 and .proposed.joules > .present.joules * 1.05 and .until_s - .from_s == 3600
        and .present.joules == .present.mean_watts * 3600 and .present.kept_share > 0.9' "$CORGID_DIR/preview"
    # Who shares already goes on where fewer may.
    corgi policy preview share=1 --for 6h
    [ "$status" -eq 0 ]
    api POST /v1/policy/preview '{"power_limit_watts": 500}' | jq -e ".proposed.joules < .present.joules"
    [ "$(api_status POST /v1/policy/preview '{"share": 9}')" = 400 ]
    [ "$(api_status POST /v1/policy/preview '{}')" = 400 ]
}

@test "policy and quota: shown as set" {
    corgid_start
    corgi policy set share=1 sleep=no power_limit=20kW
    [ "$status" -eq 0 ]
    holds /v1/policy '.share == 1 and (.sleep | not) and .power_limit_watts == 20000'
    corgi policy show --parsable
    [[ $output == *"share|1"* && $output == *"power_limit|20 kW"* && $output == *"changed|20"*"Z"* ]]
    # A limit by hour takes the place of the one of all day, and the other way round.
    corgi policy set power_limit='20kW, 00:00-24:00 12kW'
    [ "$status" -eq 0 ]
    [[ $output == *"00:00-24:00 UTC"*"12 kW"*"now"*"12 kW"* ]]
    holds /v1/policy '.power_limit_watts == 20000 and .power_limit_now_watts == 12000
        and .power_limit_hours == [{from_minute: 0, to_minute: 1440, watts: 12000}]'
    holds /v1/summary '.power_limit_now_watts == 12000'
    [ "$(api_status PATCH /v1/policy '{"power_limit_hours": [{"from_minute": 60, "to_minute": 60, "watts": 1}]}')" = 400 ]
    holds /v1/policy '.power_limit_hours[0].to_minute == 1440'
    corgi policy set power_limit=20kW
    holds /v1/policy '.power_limit_now_watts == 20000 and .power_limit_hours == []'
    corgi policy set share=9
    [ "$status" -eq 1 ]
    holds /v1/policy '.share == 1'
    corgi quota set ada --jobs 20 --gpus 8
    [ "$status" -eq 0 ]
    holds /v1/quotas 'any(.quotas[]; .user == "ada" and .max_jobs == 20 and .max_gpus == 8
        and .max_running == null)'
    corgi quota set ada --jobs none
    holds /v1/quotas 'any(.quotas[]; .user == "ada" and .max_jobs == null and .max_gpus == 8)'
    corgi quota list --parsable
    [[ $output == *"ada|0/-|0/-|0/8"* ]]
    corgi quota list
    [[ $output == *HAD*DUE* ]]
    [[ $output != *nan* ]] # what users get of whom nothing is said has no weight
}

@test "token: one that is made opens TCP, one that is revoked does not" {
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    sed -i "s|^listen:.*|listen: {socket: $CORGID_SOCKET, tcp: \"127.0.0.1:$port\"}|" \
        "$CORGID_DIR/c.yaml"
    corgid_start
    corgi token make "$(id -un)" --role viewer --note wall
    [ "$status" -eq 0 ]
    [[ $output =~ ^corgi-([0-9a-f]+)- ]]
    token=$output id=${BASH_REMATCH[1]}
    over_tcp() { env CORGI_URL="http://127.0.0.1:$port" CORGI_TOKEN="$token" "$CORGI_BIN/corgi" "$@"; }
    over_tcp nodes > /dev/null
    run over_tcp submit -- true
    [ "$status" -eq 1 ] # a viewer's may only look
    corgi token list --parsable
    [[ $output == *"$id|$(id -un)|viewer|"*"|wall"* ]]
    [[ $output != *"$token"* ]]
    corgi submit -- true
    corgi token job 1 --expires 1h
    [ "$status" -eq 0 ]
    [[ $output =~ ^corgi-job-1-[0-9]+-[A-Za-z0-9_-]{43}$ ]]
    corgi token revoke "$id"
    [ "$status" -eq 0 ]
    holds /v1/tokens '.tokens == []'
    run over_tcp nodes
    [ "$status" -eq 1 ]
}

@test "energy: the rows of the API" {
    corgid_start
    corgi submit --steps 5000 --name trial -- true
    wait_state 1 "done"
    for _ in $(seq 100); do
        corgi energy --by job --job 1 --json
        jq -e '.joules > 0' <<< "$output" > /dev/null && break
        sleep 0.1
    done
    joules=$(jq '.rows[0].joules' <<< "$output")
    holds '/v1/energy?by=job&job=1' ".rows[0].joules == $joules"
    corgi energy --by node
    [ "$status" -eq 0 ]
    [[ $output == *"$(api GET '/v1/energy?by=node' | field rows.0.key)"* ]]
}

@test "watch: follows a job to its end, whose status is its own" {
    corgid_start
    corgi submit --steps 3e5 -- true # some seconds
    corgi watch 1 --since 0 --json
    [ "$status" -eq 0 ]
    [[ $output == *submitted*started*done* ]]
    run env CORGI_SIM_EXIT=3 CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" submit \
        --steps 1e5 -- true
    corgi watch 2 --since 0
    [ "$status" -eq 1 ]
    [[ ${lines[0]} == 20??-??-??", times in "*", simulated" ]]
    [[ $output == *" job         job 2 true submitted"*" job         job 2 true started on "*" ("*")"* ]]
    [[ $output == *" job         job 2 true failed: ended with exit status 3"* ]]
    corgi watch --types power --all --count 1
    [[ ${lines[1]} =~ ^[0-9:]{8}\ power\ +[a-z]+-[0-9]:[0-9]\ .*W$ ]]
    wait_state 2 failed
    corgi watch --types node --count 1 &
    watcher=$!
    for _ in $(seq 50); do
        api POST /v1/nodes/kepler-1/drain > /dev/null
        kill -0 "$watcher" 2> /dev/null || break
        sleep 0.2
    done
    wait "$watcher"
}

@test "store: backed up, checked and exported while the daemon runs" {
    corgid_start
    corgi submit --name trial --steps 5000 --export TERM=secretly -- true
    wait_state 1 "done"
    store=$CORGID_DIR/state/corgi.db
    corgi store check "$store"
    [ "$status" -eq 0 ]
    corgi store backup "$store" "$CORGID_DIR/copy.db"
    [ "$status" -eq 0 ]
    corgi submit --name later --hold -- true
    corgi store export "$CORGID_DIR/copy.db"
    [ "${#lines[@]}" -eq 1 ]
    [ "$(jq -r .name <<< "$output")" = trial ]
    [[ $output != *secretly* ]]
    corgi store export "$store" --table transitions --format csv
    [[ $output == *submitted*started*done* ]]
    # A daemon goes on from the copy.
    corgid_stop
    rm -f "$store"*
    cp "$CORGID_DIR/copy.db" "$store"
    corgid_start
    holds /v1/jobs '[.jobs[].name] == ["trial"]'
}

@test "top: on a terminal it shows what the daemon has, until q is pressed" {
    corgid_start
    corgi submit --name trial --steps 1e9 --min-rate 0.01 --hold -- true
    echo top >> "$BATS_FILE_TMPDIR/ran"
    run timeout 60 script -qec \
        "env TERM=xterm COLUMNS=80 LINES=24 $CORGI_BIN/corgi top --socket $CORGID_SOCKET" \
        /dev/null < <(sleep 2 && printf q && sleep 5)
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *trial* ]]
}

@test "without a daemon every command says so" {
    for command in queue nodes "show 1" "cancel 1" "policy show" "token list" energy; do
        # shellcheck disable=SC2086  # two words
        run env CORGI_SOCKET="$CORGID_SOCKET" "$CORGI_BIN/corgi" $command
        echo "$output"
        [ "$status" -eq 1 ]
        [[ $output == *"no daemon listens"* ]]
    done
}

@test "slurm export: jobs and nodes as sacct and sinfo would print them" {
    corgid_start
    cd "$CORGID_DIR"
    corgi submit --name 'tri|al' --steps 10 -- true
    wait_state 1 "done"
    corgi slurm export --out record
    [ "$status" -eq 0 ]
    [ "$output" = "1 jobs" ]
    grep -qE '^1\|[^|]+\|tri_al\|[0-9]+\|[0-9]+\|[0-9]+\|gres/gpu:[a-z0-9-]+=1,gres/gpu=1\|1\|[^|]+\|COMPLETED(\|[0-9.e+]*){8}$' record/sacct.txt
    [[ "$(head -1 record/sacct.txt)" == *"|GpuUse|UnusedGpus|GpuMemoryGb|Partition|ConsumedEnergyRaw|Rate|Need|Watts" ]]
    [ "$(head -1 record/sinfo.txt)" = "NODELIST GRES HOST_WATTS PARTITION" ]
    awk 'NR > 1 && !($3 > 0) { exit 1 }' record/sinfo.txt
    [ "$(awk 'NR > 1' record/sinfo.txt | wc -l)" = "$(api GET /v1/nodes | jq '.nodes | length')" ]
}

@test "every command that asks a daemon has a case above" {
    [ -z "${BATS_TEST_FILTER:-}" ] || skip "some cases were left out"
    commands_of() { # [COMMAND]: the lines between "Commands:" and "Options:"
        "$CORGI_BIN/corgi" "$@" --help |
            sed -n '/^Commands:/,/^Options:/s/^  \([a-z][a-z-]*\) .*/\1/p'
    }
    names=() missing=()
    for command in $(commands_of); do
        mapfile -t inner < <(commands_of "$command")
        ((${#inner[@]} > 0)) || inner=("")
        for name in "${inner[@]}"; do
            name="$command${name:+ $name}"
            # shellcheck disable=SC2086  # two words
            if [[ $name == store* ]] || "$CORGI_BIN/corgi" $name --help | grep -q -- --socket; then
                names+=("$name")
                grep -qxF "$name" "$BATS_FILE_TMPDIR/ran" || missing+=("$name")
            fi
        done
    done
    echo "${#names[@]} commands: ${names[*]}; without a case: ${missing[*]}"
    [ "${#names[@]}" -gt 20 ]
    [ "${#missing[@]}" -eq 0 ]
}
