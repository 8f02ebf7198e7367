#!/usr/bin/env bats
# A user who lies over HTTP, where nothing but users' words is known: what another user is
# promised and told stays as it is without the lies.
#
# CORGI_LIES_SEEDS is how many seeds are played; with more than one, every kind of lie with each.

load ../support/corgid.bash

SEEDS=${CORGI_LIES_SEEDS:-1}
LONG=$((SEEDS > 1)) LONG=${LONG#0}

setup() { corgid_folder; }
teardown() { corgid_clean; }

played() { # SEED ROW: a fresh daemon each
    local port
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    rm -rf "$CORGID_DIR/state"
    cat > "$CORGID_DIR/c.yaml" <<EOF_
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET, tcp: "127.0.0.1:$port"}
sim: {clock: stepped, start: 1000000, measure: 24h, cluster: standard}
planner: {gap: 1s, every: 1m}
EOF_
    corgid_start >&2
    python3 "$BATS_TEST_DIRNAME/../support/lies.py" "$CORGID_SOCKET" "$port" "$1" "$2"
    corgid_stop >&2
}

# The verdicts are those of the truth, and no estimate differs by more than a tenth.
unmoved() { # TRUTH LIED
    jq -ne --argjson a "$1" --argjson b "$2" '
        [$a, $b] | map(del(.estimates)) | .[0] == .[1]' > /dev/null &&
        jq -ne --argjson a "$1" --argjson b "$2" '
            all($a.estimates | keys[]; ($b.estimates[.] / $a.estimates[.]) as $r
                | $r > 0.9 and $r < 1.1)' > /dev/null
}

lies_of() { # SEED ROW...
    local truth lied seed=$1
    shift
    truth=$(played "$seed" none)
    echo "truth: $truth"
    [ "$(jq -r '."once"' <<< "$truth")" = accepted ]
    [ "$(jq -r '."four times"' <<< "$truth")" = counter ]
    [ "$(jq -r '."new program"' <<< "$truth")" = unpromised ]
    for row in "$@"; do
        lied=$(played "$seed" "$row")
        echo "$row: $lied"
        unmoved "$truth" "$lied"
    done
}

@test "lies in a family of the liar's own move nobody" {
    for ((seed = 1; seed <= SEEDS; seed++)); do
        lies_of "$seed" own:10 own:0.1 ${LONG:+own:30 own:nan own:mixed}
    done
}

@test "lies in another user's family stay with the liar" {
    for ((seed = 2; seed < SEEDS + 2; seed++)); do
        lies_of "$seed" victim:10 victim:0.1 ${LONG:+victim:30 victim:nan victim:mixed}
    done
    lies_of 3 victim:30 victim:mixed victim:nan
}
