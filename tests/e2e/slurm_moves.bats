#!/usr/bin/env bats
# Moves of jobs that run: they checkpoint first, as long as they need, whatever KillWait is.
# CORGI_LONG=1 has the real times: a checkpoint of 40 s under KillWait=30.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash
load ../support/slurm_managed.bash

setup_file() {
    slurm_needed
    NODES=2 SHARDS=0 KILL_WAIT=$([ -n "${CORGI_LONG:-}" ] && echo 30 || echo 2) slurm_start_managed
    cat > "$SLURM_LAB/checkpoints.sh" << END
#!/bin/bash
#CORGI --checkpoint-signal 10 --grace $([ -n "${CORGI_LONG:-}" ] && echo 45 || echo 9)
# Counts seconds; USR1 makes it write its count, which takes a while, and go on.
count=\$(cat $SLURM_LAB/checkpoint 2> /dev/null || echo 0)
echo "begin \$count" >> $SLURM_LAB/counts
save() {
    local to=\$count
    sleep \$1
    echo \$to > $SLURM_LAB/checkpoint
    echo "saved \$to" >> $SLURM_LAB/counts
}
trap 'asked=1' USR1
for _ in \$(seq 1000); do
    sleep 0.2 &
    wait \$!
    count=\$((count + 1))
    [ -z "\$asked" ] || { asked=; save \$1; }
done
END
    chmod 755 "$SLURM_LAB/checkpoints.sh"
}

setup() {
    managed_setup "moves: true"
    rm -f checkpoint counts
}

@test "a checkpoint that takes longer than KillWait survives a move" {
    local job long=6
    [ -z "${CORGI_LONG:-}" ] || long=40
    job=$(sbatch --parsable -o /dev/null --gres=gpu:1 "$SLURM_LAB/checkpoints.sh" $long 2> /dev/null 3>&-)
    within 200 stored_is "$job" state running
    within 100 grep -qs begin counts
    sleep 2
    "$CORGI_BIN/corgi" requeue "$(stored "$job" id)"
    within 900 stored_is "$job" attempt 2
    within 300 stored_is "$job" state running
    begun() { [ "$(grep -c begin counts)" -eq 2 ]; }
    within 100 begun
    cat counts
    saved=$(sed -n 's/saved //p' counts)
    [ "$saved" -gt 0 ]
    [ "$(tail -n 1 counts)" = "begin $saved" ]
}
