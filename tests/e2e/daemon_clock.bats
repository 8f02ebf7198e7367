#!/usr/bin/env bats
# A simulated cluster whose time an operator moves: nothing happens in between, and when an
# answer comes all that followed has been done.

load ../support/corgid.bash

setup() {
    corgid_folder
    sed -i 's/^sim:.*/sim: {clock: stepped, start: 1000000, noise: 0}/' "$CORGID_DIR/c.yaml"
}
teardown() { corgid_clean; }

advance() { api POST /v1/sim/advance "{\"to_s\": $1}"; }
now() { api GET /v1/version | field now_s; }

@test "time stands still until somebody moves it, and goes exactly that far" {
    corgid_start
    [ "$(now)" = 1000000 ]
    id=$(api POST /v1/jobs '{"name": "long", "total_steps": 1e9,
        "descriptor": {"family": "synthetic-1", "batch": 8}}' | field job.id)
    run advance 1000010
    [ "$(field there <<< "$output")" = True ]
    [ "$(api GET "/v1/jobs/$id" | field state)" = running ]
    run advance 1003600
    [ "$(field now_s <<< "$output")" = 1003600 ]
    [ "$(now)" = 1003600 ]
    python3 -c "import sys; sys.exit(not $(api GET "/v1/jobs/$id" | field steps_done) > 0)"
    [ "$(now)" = 1003600 ]
    corgid_stop
    corgid_start # what was reached is not lost
    python3 -c "import sys; sys.exit(not 1003590 <= $(now) <= 1003600)"
}

@test "a job is over when its time has come, without a sleep" {
    corgid_start
    id=$(api POST /v1/jobs '{"name": "short", "total_steps": 100,
        "descriptor": {"family": "synthetic-1", "batch": 8}}' | field job.id)
    advance 1000600
    [ "$(api GET "/v1/jobs/$id" | field state)" = "done" ]
}

@test "time does not go back, and only an operator moves it" {
    corgid_start
    [ "$(api_status POST /v1/sim/advance '{"to_s": 5}')" = 400 ]
    [ "$(api_status POST /v1/sim/advance '{}')" = 400 ]
    [ "$(now)" = 1000000 ]
}

@test "where time goes by itself nobody moves it" {
    sed -i 's/^sim:.*/sim: {speed: 600}/' "$CORGID_DIR/c.yaml"
    corgid_start
    [ "$(api_status POST /v1/sim/advance '{"to_s": 1e10}')" = 409 ]
}
