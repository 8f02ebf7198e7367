#!/usr/bin/env bats
# docs/slurm.md, from nothing to the first advice in ten minutes: every command of that part, as
# printed, by a user without rights beside a real Slurm.  Only /tmp is another folder.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash

setup_file() {
    slurm_needed
    TYPES="tesla k80" NODES=2 slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    WALK=$(mktemp -d /tmp/slurm-walk.XXXXXX)
    chmod 777 "$WALK"
}

teardown() {
    [ ! -s "$WALK/pid" ] || kill "$(cat "$WALK/pid")" || true
    rm -rf "$WALK"
}

# The indented lines of that part: commands, and the lines of corgid.yaml.
printed() { # commands|yaml
    sed -n '/^## From nothing/,/^## The helper/p' "$BATS_TEST_DIRNAME/../../docs/slurm.md" |
        sed -n 's/^       \(.*\)$/\1/p' | sed "s|/tmp/|$WALK/|g" |
        if [ "$1" = commands ]; then grep -E '^corgid? '; else grep -Ev '^corgid? '; fi
}

as_anybody() { # COMMAND...: not root, where we are
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

# What the page says goes into one script of the user's.
walk() { # NAME LINE: its output is in $WALK/NAME, its status is told
    cat >> "$WALK/walk.sh" << END
$2 > $WALK/$1 2>&1
echo \$? > $WALK/$1.status
END
}

@test "from nothing to the first advice in ten minutes, as printed, without rights" {
    local began=$SECONDS line check start advise
    mapfile -t line < <(printed commands)
    [ "${#line[@]}" -eq 3 ]
    check=${line[0]} start=${line[1]} advise=${line[2]}
    [ "$check" = "corgi slurm check" ]
    [[ "$start" == "corgid --config corgid.yaml & export CORGI_SOCKET="* ]]
    [ "$advise" = "corgi advise" ]
    for _ in $(seq 12); do batch 2 --gres=gpu:1; done
    batch 30 --gres=gpu:tesla:1 # runs while we look

    printed yaml > "$WALK/corgid.yaml"
    grep -q 'types: {tesla: v100' "$WALK/corgid.yaml"
    : > "$WALK/walk.sh"
    walk check "$check"
    walk again "$check --config corgid.yaml"
    cat >> "$WALK/walk.sh" << END
${start%% &*} > $WALK/log 2>&1 3>&- &
echo \$! > $WALK/pid
${start##*& }
for i in \$(seq 100); do corgi queue > /dev/null 2>&1 && break; sleep 0.1; done
for i in \$(seq 600); do [ \$(squeue -h | wc -l) -gt 1 ] || break; sleep 0.1; done
sleep 5 # two looks
END
    walk nodes "corgi nodes"
    walk queue "corgi queue"
    # shellcheck disable=SC2016
    walk why 'corgi why $(corgi queue --json | jq ".jobs[0].id")'
    walk submit 'corgi submit -- true'
    walk advise "$advise"
    (cd "$WALK" && PATH=$CORGI_BIN:$PATH as_anybody timeout 540 bash "$WALK/walk.sh" 3>&-)
    tail -n 50 "$WALK"/*.status "$WALK"/{check,nodes,queue,why,advise}

    [ "$(cat "$WALK/check.status")" = 1 ] # a type that the catalogue does not know, and what to write
    grep -q 'slurm.types: {tesla: CARD}' "$WALK/check"
    [ "$(cat "$WALK/again.status")" = 0 ]
    grep -q '0 before its advice can be trusted' "$WALK/again"
    [ "$(cat "$WALK/nodes.status" "$WALK/queue.status" "$WALK/why.status" "$WALK/advise.status" | sort -u)" = 0 ]
    grep -q 'node1 .*v100' "$WALK/nodes"
    [ "$(cat "$WALK/submit.status")" != 0 ]
    grep -q sbatch "$WALK/submit"
    grep -q 'Replay of the real schedule' "$WALK/advise"
    grep -q '^ *corgi ' "$WALK/advise"
    [ $((SECONDS - began)) -lt 600 ]
}
