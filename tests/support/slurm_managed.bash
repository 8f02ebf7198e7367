# shellcheck shell=bash
# slurm_managed.bash - a daemon that has control of the partition `main` of slurm_start_managed,
# and jobs that say where and when they ran
#
# A test file loads slurm.bash and corgid.bash too, and says in setup_file which Slurm it needs;
# setup and teardown are those below, unless it has its own.

teardown_file() {
    slurm_stop
}

setup() {
    # shellcheck disable=SC2119 # no more of it
    managed_setup
}

teardown() {
    managed_teardown
}

# $SLURM_LAB/ran.sh SECONDS writes a line as it begins and one as it ends, and touches
# $SLURM_LAB/alive/RUN four times a second meanwhile.
managed_script() {
    mkdir -p "$SLURM_LAB/alive"
    chmod 1777 "$SLURM_LAB/alive"
    cat > "$SLURM_LAB/ran.sh" << END
#!/bin/bash
id=\${SLURM_ARRAY_JOB_ID:+\${SLURM_ARRAY_JOB_ID}_\$SLURM_ARRAY_TASK_ID}
run=\${CORGI_RUN:-\$\$-\$RANDOM\$RANDOM}
say() { echo "\$1 \${id:-\$SLURM_JOB_ID} \$SLURMD_NODENAME \${CUDA_VISIBLE_DEVICES:--} \$(date +%s.%N) \$SLURM_JOB_NAME \$run" >> $SLURM_LAB/ran; }
say begin
until=\$(date -d "+\$1 seconds" +%s%N)
while left=\$(((until - \$(date +%s%N)) / 1000000)); [ \$left -gt 0 ]; do
    : > $SLURM_LAB/alive/\$run
    [ \$left -lt 250 ] || left=250
    sleep 0.\$(printf %03d \$left)
done
say end
END
    chmod 755 "$SLURM_LAB/ran.sh"
}

# A daemon of the test's own, which starts with an empty store.
# shellcheck disable=SC2120 # test files say more
managed_setup() { # [MORE OF SLURM'S GROUP [LINE OF THE CONFIG...]]; LISTEN: more of that group
    local more=${1:-}
    CORGID_DIR=
    [ -n "${SLURM_LAB:-}" ] || skip "there is no Slurm with the plugin here"
    cd "$SLURM_LAB" || return 1
    rm -f ran
    : > ran
    : > foreign
    since=$(date +%s) # Slurm still shows the jobs of the test before
    corgid_folder
    chmod 755 "$CORGID_DIR"
    # shellcheck disable=SC2153 # corgid_folder sets it
    cat > "$CORGID_DIR/c.yaml" << END
engine: slurm
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET, socket_mode: "0666"${LISTEN:+, $LISTEN}}
slurm: {mode: control, partitions: [main], poll: 0.2s, within: 5s, start: 4s${more:+, $more}}
END
    [ $# -lt 2 ] || printf '%s\n' "${@:2}" >> "$CORGID_DIR/c.yaml"
    export CORGI_SOCKET=$CORGID_SOCKET
    corgid_start
}

managed_teardown() {
    [ -z "${SLURM_LAB:-}" ] || scancel --user="$(id -un)" || true
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

hand_in() { # SECONDS [OPTION...]: prints Slurm's number
    local seconds=$1
    shift
    sbatch --parsable -o /dev/null "$@" "$SLURM_LAB/ran.sh" "$seconds" 2> /dev/null 3>&-
}

submit() { # SECONDS [OPTION...]: prints Corgi's number
    local seconds=$1
    shift
    "$CORGI_BIN/corgi" submit --json "$@" -- "$SLURM_LAB/ran.sh" "$seconds" | jq -r '.job.id // .id'
}

of_job() { # JOB KEY
    scontrol show job "$1" | sed -n "s/.*\b$2=\(.*\)/\1/p" | head -n 1 | cut -d ' ' -f 1
}

is() { # JOB STATE
    [ "$(of_job "$1" JobState)" = "$2" ]
}

# What the daemon's store says of Slurm's job.
stored() { # JOB COLUMN
    sqlite3 "$CORGID_DIR/state/corgi.db" \
        "select $2 from jobs where key = 'found:$1' or progress_extra like '%\"entered\":\"$1#%' or
        progress_extra like '%\"ref\":\"$1@%'"
}

stored_is() { # JOB COLUMN VALUE
    [ "$(stored "$1" "$2")" = "$3" ]
}

slurm_id() { # CORGI'S NUMBER
    sqlite3 "$CORGID_DIR/state/corgi.db" "select progress_extra from jobs where id = $1" |
        jq -r '(.entered // .ref // "") | split("#")[0]'
}

entered() { # CORGI'S NUMBER
    [ -n "$(slurm_id "$1")" ]
}

placed_right() {
    python3 "$BATS_TEST_DIRNAME/../support/slurm_placed.py" "$CORGID_DIR/state/corgi.db" \
        "$SLURM_LAB/ran" "$SLURM_LAB/foreign" "$since"
}
