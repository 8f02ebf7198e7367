#!/usr/bin/env bats
# A daemon with the local engine: 40 real jobs of 6 kinds on 4 CPU devices of 3 types run
# once for the file, and the tests look at what became of them.
bats_require_minimum_version 1.5.0

load local_daemon

jobs=40
kinds=(dense stream learn sort hash serve)
trial_steps=(800 240 2700 200 200)
# Of processor time a job takes.  One that has its device for itself is through as soon as
# that has passed, and needs whole windows too.
cpu_s=(3 2 4 3 2)
serve_rate=120

# How many steps are so much processor time on this machine: jobs last as long, and are
# measured as often, on a fast one as on a slow one, however busy it is.
calibrate() {
    local dir=$1 k TIMEFORMAT='%U %S' times

    for k in 0 1 2 3 4; do
        times=$({ time "$CORGI_BIN/../tests/cpu_job" "${kinds[$k]}" "${trial_steps[$k]}" \
            "$dir/trial" > /dev/null 2>&1; } 2>&1)
        awk -v n="${trial_steps[$k]}" -v s="${cpu_s[$k]}" -v t="$times" \
            'BEGIN { split(t, used, " "); u = used[1] + used[2]; print int(n * s / (u > 0.02 ? u : 0.02)) }'
    done > "$dir/steps"
    echo "$serve_rate" >> "$dir/steps"
}

# submit DIR NUMBER: the next job, its own count in DIR/own-NUMBER
submit() {
    local dir=$1 n=$2 kind=${kinds[$2 % 6]} steps=${steps_of[$2 % 6]}
    local port=$((20000 + ($$ + $2) % 20000)) more=""

    case $kind in
        dense) more='"need":{"kind":"rate","rate":100}' ;;
        stream) more='"need":{"kind":"best_effort"}' ;;
        learn) more='"need":{"kind":"best_effort"},"share":false' ;;
        sort) more='"progress_file":"'$dir/progress-$n'"' ;;
        hash) more='"need":{"kind":"deadline","within_s":300}' ;;
        serve) more='"kind":"inference","need":{"kind":"service","rate":'$steps'},
            "metrics_url":"http://127.0.0.1:'$port'/metrics","metrics_counter":"answered_total",
            "duration_s":60' ;;
    esac
    [ "$kind" = serve ] || more+=',"total_steps":'$steps
    submit_job "$dir" "$kind-$n" "$more,\"descriptor\":{\"family\":\"$kind\"}" \
        "JOB_PROGRESS=$dir/progress-$n JOB_PORT=$port exec $CORGI_BIN/../tests/cpu_job $kind $steps $dir/own-$n 6"
}

setup_file() {
    local dir=$BATS_FILE_TMPDIR n

    write_config "$dir"
    JOB_PROGRESS=$dir/trial-progress calibrate "$dir"
    mapfile -t steps_of < "$dir/steps"
    echo "# steps of each kind: ${steps_of[*]}" >&3
    start_daemon "$dir"
    for n in $(seq "$jobs"); do
        submit "$dir" "$n" >> "$dir/submitted"
        sleep 0.1
    done
    await_idle "$dir" 300 || true
    daemon_get "$dir" "/v1/decisions?limit=500" > "$dir/decisions"
    daemon_get "$dir" "/v1/energy?by=total" > "$dir/energy-total"
    daemon_get "$dir" "/v1/energy?by=job" > "$dir/energy-job"
    daemon_get "$dir" "/v1/energy?by=total" > "$dir/energy-total-after"
    for n in $(seq "$jobs"); do
        daemon_get "$dir" "/v1/jobs/$n" > "$dir/job-$n"
        daemon_get "$dir" "/v1/jobs/$n/measurements" > "$dir/measured-$n"
    done
    stop_daemon "$dir"
    tables "$dir"
}

teardown_file() {
    stop_daemon "$BATS_FILE_TMPDIR" KILL || true
}

# What the daemon said, as tables for awk: jobs, placements in order, measurements.
tables() {
    local n

    for n in $(seq "$jobs"); do
        jq -r '[.id, (.name | sub("-.*"; "")), .state, .exit_status, .ended_s, .joules,
            .steps_done] | @tsv' "$1/job-$n"
    done > "$1/jobs.tsv"
    jq -r '.decisions | sort_by(.id)[] | select(.kind == "start" or .kind == "move") |
        [.at_s, .job, .devices[0].name, .devices[0].type, .rate.value] | @tsv' \
        "$1/decisions" > "$1/placed.tsv"
    for n in $(seq "$jobs"); do
        jq -r --arg n "$n" '.points[] | select(.rate > 0) | [$n, .at_s, .rate] | @tsv' \
            "$1/measured-$n"
    done > "$1/measured.tsv"
}

@test "all jobs of all kinds are done" {
    cd "$BATS_FILE_TMPDIR"
    cut -f 2,3 jobs.tsv | sort | uniq -c
    [ "$(awk '$3 == "done"' jobs.tsv | wc -l)" -eq "$jobs" ]
    [ "$(awk '$4 != 0' jobs.tsv | wc -l)" -eq 0 ]
    [ "$(cut -f 2 jobs.tsv | sort -u | wc -l)" -eq 6 ]
}

@test "all devices were used, and shared" {
    cd "$BATS_FILE_TMPDIR"
    cut -f 3,4 placed.tsv | sort | uniq -c
    [ "$(cut -f 3 placed.tsv | sort -u | wc -l)" -eq 4 ]
    [ "$(cut -f 4 placed.tsv | sort -u | wc -l)" -eq 3 ]
    # Somebody was placed on a device where somebody was.
    awk -F '\t' '
        NR == FNR { ended[$1] = $5; next }
        { for (j in on) if (on[j] == $3 && j != $2 && ended[j] > $1) shared++
          on[$2] = $3 }
        END { print shared " times beside another"; exit shared < 3 }' jobs.tsv placed.tsv
}

@test "measured rates are within 5 % of the jobs' own count" {
    cd "$BATS_FILE_TMPDIR"
    for n in $(seq "$jobs"); do
        # The windows of measurements follow each other; over all of them together the
        # mean rate must be what the job counted itself in that time.
        awk -v n="$n" -v window=1 '
            FILENAME ~ /^own/ { time[++m] = $1; steps[m] = $2; next }
            $1 == n { at[++k] = $2; rate[k] = $3 }
            function own(t, i) {
                for (i = 2; i <= m && time[i] < t; i++)
                    ;
                if (i > m || t <= time[1])
                    return t <= time[1] ? steps[1] : steps[m]
                return steps[i - 1] + (steps[i] - steps[i - 1]) * \
                    (t - time[i - 1]) / (time[i] - time[i - 1])
            }
            END {
                for (i = 1; i <= k; i++) {
                    from = i > 1 && at[i] - at[i - 1] < 1.5 * window ? at[i - 1] : at[i] - window
                    if (from < time[1] || at[i] > time[m])
                        continue # the job began or ended within: not a whole window
                    theirs += own(at[i]) - own(from)
                    ours += rate[i] * (at[i] - from)
                    windows++
                }
                if (theirs > 0)
                    print n, windows, ours, theirs
            }' "own-$n" measured.tsv
    done > errors
    # Few windows tell of their edges more than of the job: a job with fewer than six
    # counts with the others of its kind.
    awk '
        NR == FNR { kind[$1] = $2; next }
        { k = kind[$1]; ours[k] += $3; theirs[k] += $4; windows += $2
          e = $3 / $4 - 1
          printf "job %d %s: %d windows, off by %.1f %%\n", $1, k, $2, 100 * e
          if ($2 >= 6) { judged++; if (e > 0.05 || e < -0.05) bad++ } }
        END {
            for (k in ours) {
                e = ours[k] / theirs[k] - 1
                printf "%s: off by %.1f %%\n", k, 100 * e
                if (e > 0.05 || e < -0.05) bad++
                n++
            }
            print windows " windows, " judged + 0 " jobs with six or more, " bad + 0 " off"
            # Every job lasts long enough to be measured, whatever the machine.
            print NR - jobs " jobs were measured"
            exit bad > 0 || n < 6 || windows < 2 * jobs || judged < 10 || NR - jobs < jobs - 2
        }' jobs="$jobs" jobs.tsv errors
}

@test "the error on cells nobody has seen falls over the run" {
    cd "$BATS_FILE_TMPDIR"
    # A cell is a kind of job on a type of device beside kinds of jobs.  The prediction of
    # a placement is compared with the mean of what was measured until the next one.
    awk -F '\t' '
        FILENAME == "jobs.tsv" { kind[$1] = $2; ended[$1] = $5; next }
        FILENAME == "measured.tsv" { c = ++count[$1]; when[$1, c] = $2; rate[$1, c] = $3; next }
        { at[++n] = $1; job[n] = $2; device[n] = $3; type[n] = $4; predicted[n] = $5 }
        function until(i, j) {
            for (j = i + 1; j <= n; j++)
                if (job[j] == job[i])
                    return at[j]
            return ended[job[i]]
        }
        END {
            split("dense stream learn sort hash serve", order, " ")
            for (i = 1; i <= n; i++) {
                cell = kind[job[i]] " " type[i]
                for (k = 1; k <= 6; k++)
                    for (j = 1; j < i; j++)
                        if (device[j] == device[i] && job[j] != job[i] &&
                            until(j) > at[i] && kind[job[j]] == order[k])
                            cell = cell " " order[k]
                m = sum = 0
                for (c = 1; c <= count[job[i]]; c++)
                    if (when[job[i], c] > at[i] + 1 && when[job[i], c] < until(i)) {
                        sum += rate[job[i], c]
                        m++
                    }
                if (m == 0 || predicted[i] <= 0)
                    continue
                if (!seen[cell]++) {
                    e = log(predicted[i] / (sum / m))
                    print e < 0 ? -e : e
                }
            }
        }' jobs.tsv measured.tsv placed.tsv > unseen
    awk '{ e[NR] = $1 }
        END {
            half = int(NR / 2)
            for (i = 1; i <= half; i++) first += e[i] / half
            for (i = half + 1; i <= NR; i++) second += e[i] / (NR - half)
            printf "%d unseen cells: mean |log error| %.3f, then %.3f\n", NR, first, second
            exit !(NR >= 12 && second < 0.5 * first)
        }' unseen
}

@test "energy is told as modelled, and jobs have theirs" {
    cd "$BATS_FILE_TMPDIR"
    cat energy-total
    [ "$(jq '.joules > 0' energy-total)" = true ]
    if ! compgen -G '/sys/class/powercap/intel-rapl:*' > /dev/null; then
        [ "$(jq '.rows[0].modelled_share' energy-total)" = 1 ]
    fi
    # A reading of power may come between two questions.
    [ "$(jq -s '.[0].joules - 1 <= ([.[1].rows[].joules] | add)
        and ([.[1].rows[].joules] | add) <= .[2].joules + 1' \
        energy-total energy-job energy-total-after)" = true ]
    [ "$(awk '$6 <= 0' jobs.tsv | wc -l)" -eq 0 ]
}

@test "no process is left" {
    no_process_of "$BATS_FILE_TMPDIR"
}
