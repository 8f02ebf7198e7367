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

slurm_stop() {
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
