# shellcheck shell=bash
# slurm.bash - a real Slurm of a test file's own, for bats; see slurm_cluster
#
# setup_file starts it, teardown_file ends it; the folder is $SLURM_LAB.

SLURM_CLUSTER=$BATS_TEST_DIRNAME/../support/slurm_cluster

# Skips with a sentence where there is no Slurm or no helper.
slurm_needed() {
    local missing
    missing=$("$SLURM_CLUSTER" missing | tr '\n' ' ')
    [ -z "$missing" ] || skip "there is no Slurm here (missing: $missing); ./test installs it"
    [ -x "$CORGI_BIN/corgi-engine-slurm" ] ||
        skip "corgi-engine-slurm was not built: there is no libslurm-dev; ./test installs it"
}

slurm_start() {
    SLURM_LAB=$(mktemp -d /tmp/slurm-test.XXXXXX)
    chmod 755 "$SLURM_LAB" # munged and users of the cluster look inside
    export SLURM_LAB
    "$SLURM_CLUSTER" start "$SLURM_LAB" 3>&-
    SLURM_CONF=$SLURM_LAB/etc/slurm.conf
    export SLURM_CONF
}

# One whose partition `main` is managed by job_submit_corgi; `other` on the same nodes is not.
slurm_start_managed() { # [LINE OF THE PLUGIN'S SETTINGS...]
    local plugin stock
    plugin=$(dirname "$CORGI_BIN")/lib/job_submit_corgi.so
    [ -e "$plugin" ] || skip "job_submit_corgi.so was not built: there is no libslurm-dev"
    stock=$(dirname "$(find /usr/lib -name job_submit_all_partitions.so 2> /dev/null | head -n 1)")
    CORGI_SLURM_PLUGIN_CONF=$(mktemp /tmp/slurm-plugin.XXXXXX)
    export CORGI_SLURM_PLUGIN_CONF
    printf '%s\n' Partitions=main Default=yes "$@" > "$CORGI_SLURM_PLUGIN_CONF"
    chmod 644 "$CORGI_SLURM_PLUGIN_CONF"
    EXTRA="JobSubmitPlugins=corgi
PluginDir=$(dirname "$plugin"):$stock
PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP${EXTRA:+
$EXTRA}" slurm_start
}

slurm_stop() {
    rm -f "${CORGI_SLURM_PLUGIN_CONF:-}" "${CORGI_SLURM_PLUGIN_CONF:-/nowhere}.detached"
    [ -n "${SLURM_LAB:-}" ] || return 0
    "$SLURM_CLUSTER" stop "$SLURM_LAB" 3>&- || true
    rm -rf "$SLURM_LAB"
}

batch() { # SECONDS [OPTION...]: hand in a job that sleeps, prints its number
    local seconds=$1
    shift
    sbatch --parsable -o /dev/null "$@" --wrap "sleep $seconds" 3>&-
}

runs() { # JOB
    [ -n "$(squeue -h -t R -j "$1" -o %i)" ]
}

# Wait until the command succeeds, so many tenths of a second.
within() { # TENTHS COMMAND...
    local tenths=$1
    shift
    for _ in $(seq "$tenths"); do
        ! "$@" || return 0
        sleep 0.1
    done
    echo "not within $((tenths / 10)) s: $*"
    return 1
}

# A daemon that advises, in $CORGID_DIR; corgid.bash is loaded too.
advisor_folder() { # [LINE OF SLURM'S GROUP]
    corgid_folder
    cat > "$CORGID_DIR/c.yaml" << END
engine: slurm
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
slurm: {mode: advise, poll: 0.2s, within: 3s${1:+, $1}}
END
}

# Jobs that write where they ran; each takes as long as it says.
ran_script() { # prints the path of a script: SECONDS [EXIT-STATUS]
    local script=$SLURM_LAB/ran.sh
    cat > "$script" << END
#!/bin/bash
# Arrays are known by element.
id=\${SLURM_ARRAY_JOB_ID:+\${SLURM_ARRAY_JOB_ID}_\$SLURM_ARRAY_TASK_ID}
echo "\${id:-\$SLURM_JOB_ID} \$SLURM_JOB_ID \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES" >> $SLURM_LAB/ran
sleep \$1
exit \${2:-0}
END
    chmod 755 "$script"
    : >> "$SLURM_LAB/ran"
    echo "$script"
}

queue_is_empty() {
    [ -z "$(squeue -h -o %i)" ]
}

# Every job the daemon knows has ended.
record_is_complete() {
    [ "$(api GET '/v1/summary' | jq '.jobs.waiting + .jobs.running + .jobs.held')" = 0 ]
}

record_is_right() {
    python3 "$BATS_TEST_DIRNAME/../support/slurm_record.py" "$CORGID_DIR/state/corgi.db" \
        "$SLURM_LAB/log/jobcomp" "$SLURM_LAB/ran"
}

advised_job() { # SLURM ID: our number of it; nothing: it is not known yet
    api GET '/v1/jobs?limit=100' | jq -r --arg ref "$1" '.jobs[] | select(.engine_ref // "" | startswith($ref + "@")) | .id'
}

says() { # SLURM ID, TEXT: what `corgi why` says of it
    local said
    said=$(CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" why "$(advised_job "$1")" 2>&1) || return 1
    echo "$said" > "$CORGID_DIR/said"
    [[ $said == *"$2"* ]]
}
