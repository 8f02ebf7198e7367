#!/usr/bin/env bats
# Job, probe and daemon killed in any order, with real processes: no orphan is left, no
# exit status is lost, no rate is wrong, and what still runs is adopted.
#
# Each test is a process of its own: what begin() sets is for that one.
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

load local_daemon

setup() {
    dir=$BATS_TEST_TMPDIR
    write_config "$dir"
    start_daemon "$dir"
}

teardown() {
    stop_daemon "$dir" || true
    processes_of "$dir" | xargs -r kill -9 || true
}

# A job that counts ten steps a second and keeps its own book in own-ATTEMPT; it has a
# detached child, so that there is something to be orphaned.
steady() {
    cat << SH
setsid -f sh -c 'echo \$\$ > $dir/far-\$CORGI_ATTEMPT; exec sleep 600'
while [ ! -s $dir/far-\$CORGI_ATTEMPT ]; do sleep 0.05; done
i=0
echo \$\$ > $dir/job-\$CORGI_ATTEMPT
while [ ! -e $dir/stop ]; do
    i=\$((i + 1))
    echo "step \$i/100000"
    echo "\$(date +%s.%N) \$i" >> $dir/own-\$CORGI_ATTEMPT
    sleep 0.1
done
exit 5
SH
}

# begin: the job runs and was measured
begin() {
    id=$(submit_job "$dir" steady '"total_steps":100000,"share":false' "$(steady)" | jq .job.id)
    await_file "$dir/job-1" 30
    await_state "$dir" "$id" running 30
    for _ in $(seq 100); do
        [ "$(daemon_get "$dir" "/v1/jobs/$id/measurements" | jq '.points | length')" -ge 2 ] && break
        sleep 0.1
    done
}

folder() {
    echo "$dir/state/engine/jobs/$id/attempt-1"
}

kill_one() {
    case $1 in
        job) kill -9 "$(< "$dir/job-1")" 2> /dev/null || true ;;
        probe) kill -9 "$(sed 's/^probe=\([0-9]*\) .*/\1/' "$(folder)/pid")" 2> /dev/null || true ;;
        daemon) stop_daemon "$dir" KILL ;;
    esac
}

# After one was killed: wait until what follows from it has happened.
settle() {
    case $1 in
        job) [ "$2" = pause ] && await_file "$(folder)/status" 30 ;;
        probe) await_gone "$(< "$dir/job-1")" 10 ;;
    esac
    return 0
}

# rates_are_right: each rate the daemon was told is what the job counted itself in the
# window before, which is a second or somewhat more, between two moments of a step
rates_are_right() {
    daemon_get "$dir" "/v1/jobs/$id/measurements" |
        jq -r '.points[] | [.at_s, .rate] | @tsv' > "$dir/rates"
    cat "$dir"/own-? > "$dir/own"
    awk '
        FILENAME ~ /own$/ { time[++m] = $1; next }
        { right = 0
          for (w = 0.8; w <= 3.5 && !right; w += 0.1) {
              n = 0
              for (i = 1; i <= m; i++) n += time[i] > $1 - w && time[i] <= $1
              off = $2 * w - n
              right = off * off <= (1 + 0.05 * n) ^ 2
          }
          told++
          if (!right) { print "wrong: " $0; bad++ } }
        END { printf "%d rates, %d wrong\n", told, bad; exit bad > 0 || told < 1 }' \
        "$dir/own" "$dir/rates"
}

# killed A B C [pause]: in that order; then there is a daemon again
killed() {
    begin
    local pause=${4:-} daemon_is_dead=0 which
    for which in "$1" "$2" "$3"; do
        kill_one "$which"
        settle "$which" "$pause"
        [ "$which" = daemon ] && daemon_is_dead=1
    done
    [ "$daemon_is_dead" = 1 ]
    start_daemon "$dir"
}

# The status was written before anybody could prevent it: it must be told, once.
status_is_kept() {
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq '.signal, .attempt' | xargs)" = "9 1" ]
    await_gone "$(< "$dir/far-1")" 10
    no_process_of "$dir"
    rates_are_right
}

# The attempt after the first that began.  A daemon that is killed between the folder of an
# attempt and its start has given that number away.
next_attempt() { # prints it
    local n
    for _ in $(seq 300); do
        for n in 2 3; do
            [ ! -s "$dir/job-$n" ] || { echo "$n" && return 0; }
        done
        sleep 0.1
    done
    return 1
}

# Nobody can know how it ended: it runs again, and of the first attempt nothing is left.
runs_again() {
    local n
    n=$(next_attempt)
    is_gone "$(< "$dir/job-1")"
    await_gone "$(< "$dir/far-1")" 10
    await_state "$dir" "$id" running 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .attempt)" = "$n" ]
    daemon_get "$dir" "/v1/jobs/$id/history" | grep -q "corgi-probe"
    sleep 2.5 # a rate or two of the second attempt
    touch "$dir/stop"
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq '.exit_status, .attempt' | xargs)" = "5 $n" ]
    [ "$(find "$dir" -maxdepth 1 -name 'job-*' | wc -l)" -eq 2 ]
    no_process_of "$dir"
    rates_are_right
}

@test "killed: job, probe, daemon" {
    killed job probe daemon pause
    status_is_kept
}

@test "killed: job, daemon, probe" {
    killed job daemon probe pause
    status_is_kept
}

@test "killed: daemon, job, probe" {
    killed daemon job probe pause
    status_is_kept
}

@test "killed: probe, job, daemon" {
    begin
    # The daemon sees it: with it alive the job is started again at once.
    kill_one probe
    settle probe
    kill_one job
    kill_one daemon
    start_daemon "$dir"
    runs_again
}

@test "killed: probe, daemon, job" {
    killed probe daemon job
    runs_again
}

@test "killed: daemon, probe, job" {
    killed daemon probe job
    runs_again
}

@test "all three killed at the same moment, ten times: told or started again, never both" {
    for n in $(seq 10); do
        rm -f "$dir"/{job,far,own}-*
        id=$(submit_job "$dir" "at-once-$n" '"share":false' "$(steady)" | jq .job.id)
        await_file "$dir/job-1" 30
        kill -9 "$(< "$dir/job-1")" "$(sed 's/^probe=\([0-9]*\) .*/\1/' "$(folder)/pid")" "$(< "$dir/pid")"
        wait "$(< "$dir/pid")" 2> /dev/null || true # it has the store until it is gone
        start_daemon "$dir"
        for _ in $(seq 100); do
            state=$(daemon_get "$dir" "/v1/jobs/$id" | jq -r '.state, .attempt, .signal' | xargs)
            [[ $state == "failed 1 9" || $state == "running 2 null" ]] && break
            sleep 0.1
        done
        echo "$n: $state"
        [[ $state == "failed 1 9" || $state == "running 2 null" ]]
        await_gone "$(< "$dir/far-1")" 10
        daemon_post "$dir" "/v1/jobs/$id/cancel" > /dev/null
        await_idle "$dir" 30
        no_process_of "$dir"
    done
}

@test "a daemon killed and started again adopts its jobs, twice, and measures on" {
    begin
    first=$(daemon_get "$dir" "/v1/jobs/$id/measurements" | jq '.points | length')
    for _ in 1 2; do
        stop_daemon "$dir" KILL
        kill -0 "$(< "$dir/job-1")"
        start_daemon "$dir"
        kill -0 "$(< "$dir/job-1")"
        [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq -r '.state, .attempt' | xargs)" = "running 1" ]
    done
    sleep 2.5
    [ "$(daemon_get "$dir" "/v1/jobs/$id/measurements" | jq '.points | length')" -gt "$first" ]
    touch "$dir/stop"
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq '.exit_status, .attempt' | xargs)" = "5 1" ]
    # What it counted is what it did.
    done=$(daemon_get "$dir" "/v1/jobs/$id" | jq .steps_done)
    own=$(tail -n 1 "$dir/own-1" | cut -d ' ' -f 2)
    echo "steps: $done told, $own done"
    [ "$done" = "$own" ]
    no_process_of "$dir"
    rates_are_right
}

@test "a job that ended while no daemon ran has its status and its steps" {
    begin
    stop_daemon "$dir" KILL
    touch "$dir/stop"
    no_process_of "$dir"
    start_daemon "$dir"
    await_state "$dir" "$id" failed 30
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq '.exit_status, .attempt' | xargs)" = "5 1" ]
    [ "$(daemon_get "$dir" "/v1/jobs/$id" | jq .steps_done)" = "$(tail -n 1 "$dir/own-1" | cut -d ' ' -f 2)" ]
}
