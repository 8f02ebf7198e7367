#!/usr/bin/env bats
# One loop: the same requests at the same times, played through a real daemon (its HTTP,
# its store, its threads) and through `corgi sim`, give the same quotes, plans and
# decisions, byte for byte, and count alike what came of the quotes.

load ../support/corgid.bash

setup() {
    corgid_folder
    cat > "$CORGID_DIR/c.yaml" <<EOF
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
sim: {clock: stepped, start: 1000000, measure: 2m}
planner: {gap: 1s, every: 1m}
EOF
}
teardown() { corgid_clean; }

one_loop() { python3 "$BATS_TEST_DIRNAME/../support/one_loop.py" "$@"; }

# The daemon's ledger is among the events of its store.
daemon_ledger() {
    "$CORGI_BIN/corgi" store export "$CORGID_DIR/state/corgi.db" --table events |
        python3 -c '
import sys
mark = "\"data\":"
for line in sys.stdin:
    if "\"kind\":\"ledger\"" in line:
        print(line[line.index(mark) + len(mark):].rstrip("\n")[:-1])'
}

same_bytes() { # SEED COUNT END
    cd "$CORGID_DIR" || return
    one_loop make "$1" "$2" 1000000 > requests
    "$CORGI_BIN/corgi" sim --requests requests --daemon c.yaml --ledger sim.ledger --until "$3s" \
        > sim.quotes
    corgid_start
    run one_loop play "$CORGID_SOCKET" requests "$3"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *201* && $output == *422* ]] # some were taken, some were not
    one_loop quotes "$CORGID_SOCKET" > daemon.quotes
    corgid_stop
    cat sim.quotes
    diff sim.quotes daemon.quotes
    grep -q 'place: [1-9]' sim.quotes
    daemon_ledger > daemon.ledger
    wc -l sim.ledger daemon.ledger
    grep -q '"kind":"move"' sim.ledger
    grep -q '"kind":"cap"' sim.ledger
    grep -q '"alternatives":\[{' sim.ledger
    [ "$(grep -c '"quote"' sim.ledger)" -ge "$(($2 / 2))" ]
    diff sim.ledger daemon.ledger | head -c 2000
    cmp sim.ledger daemon.ledger
}

@test "sixty requests: quotes, plans and ledger are the same bytes" {
    same_bytes 1 60 1030000
}

@test "and other requests likewise" {
    same_bytes 2 40 1020000
}

@test "requests, daemon and ledger go together" {
    run "$CORGI_BIN/corgi" sim --requests x
    [ "$status" -eq 2 ]
    [[ $output == *"go together"* ]]
}
