#!/usr/bin/env bats
# The dashboard from a live daemon with the simulated engine: what is embedded, then walks
# through it in a real browser (dashboard.mjs).  Pictures stay in the build folder.

load ../support/corgid.bash

web=$BATS_TEST_DIRNAME/../../web
pictures=${CORGI_BIN%/bin}/screenshots

# What the lock file names, once; where no registry answers, the tests that need it are
# skipped.
setup_file() {
    local try stamp=$BATS_TEST_DIRNAME/../../web/node_modules/.corgi-lock
    if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
        export LACKING="node and npm are not installed"
    elif [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 18 ]; then
        export LACKING="node is older than 18"
    elif ! cmp -s "$BATS_TEST_DIRNAME/../../web/package-lock.json" "$stamp"; then
        for try in 1 2; do
            (cd "$BATS_TEST_DIRNAME/../../web" && timeout 100 npm ci --ignore-scripts --fetch-retries=0 --fetch-timeout=30000) && break
            [ "$try" = 1 ] || export LACKING="npm ci found no registry"
        done > "$BATS_FILE_TMPDIR/npm.log" 2>&1
        [ -n "${LACKING:-}" ] || cp "$BATS_TEST_DIRNAME/../../web/package-lock.json" "$stamp"
    fi
}

needs_node() {
    [ -z "${LACKING:-}" ] || skip "$LACKING"
}

needs_browser() {
    needs_node
    BROWSER=$(command -v chromium || command -v chromium-browser) || skip "no chromium is installed"
    export BROWSER
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

setup() {
    CORGID_SPEED=120 corgid_folder
    port=$(free_port)
    sed -i "s|^listen: {|listen: {tcp: \"127.0.0.1:$port\", |" "$CORGID_DIR/c.yaml"
    echo 'energy: {price_per_kwh: 0.3, co2_g_per_kwh: 380}' >> "$CORGID_DIR/c.yaml"
    mkdir -p "$pictures"
}

teardown() {
    corgid_clean
}

token() { # ROLE
    api POST /v1/tokens "{\"user\": \"$(id -un)\", \"role\": \"$1\"}" | field token
}

some_jobs() {
    local rate
    for rate in 2 4 6; do
        api POST /v1/jobs "{\"name\": \"train-$rate\", \"total_steps\": 1e9,
            \"descriptor\": {\"family\": \"CNN-CIFAR\", \"model\": \"conv\", \"batch\": 128},
            \"need\": {\"kind\": \"rate\", \"rate\": $rate}}" > /dev/null
    done
    wait_state 3 running
    for _ in $(seq 200); do
        [ "$(api GET /v1/jobs/3 | field rate)" = null ] || return 0
        sleep 0.05
    done
}

walk() { # NAME
    TOKEN=$(token operator) VIEWER=$(token viewer) timeout 150 \
        node "$BATS_TEST_DIRNAME/dashboard.mjs" "$1" "http://127.0.0.1:$port" "$pictures" 3>&-
}

@test "dashboard: what is committed is what the sources give" {
    needs_node
    node "$web/build.mjs" "$CORGID_DIR/dist"
    for file in app.js app.css index.html icon.svg; do
        cmp "$CORGID_DIR/dist/$file" "$web/dist/$file"
    done
}

@test "dashboard: the lock file names no registry's address" {
    [ "$(grep -c '"resolved"' "$web/package-lock.json")" = 0 ]
}

@test "dashboard: less than 80 kB compressed, asks nobody else" {
    corgid_start
    total=0
    for path in / /ui/app.js /ui/app.css /ui/icon.svg; do
        size=$(curl -s -H 'Accept-Encoding: gzip' -o /dev/null -w '%{size_download}' "http://127.0.0.1:$port$path")
        total=$((total + size))
    done
    echo "$total bytes"
    [ "$total" -gt 20000 ]
    [ "$total" -lt 80000 ]
    run curl -si "http://127.0.0.1:$port/"
    grep -q "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'" <<< "$output"
    [ "$(grep -c 'unsafe\|https\?://' <<< "$output")" = 0 ]
}

@test "dashboard: a file that is known is not sent again" {
    corgid_start
    tag=$(curl -si "http://127.0.0.1:$port/ui/app.css" | sed -n 's/^ETag: \(.*\)\r$/\1/p')
    [ -n "$tag" ]
    run curl -s -o /dev/null -w '%{http_code} %{size_download}' -H "If-None-Match: $tag" "http://127.0.0.1:$port/ui/app.css"
    [ "$output" = "304 0" ]
    run curl -s "http://127.0.0.1:$port/ui/app.css"
    [ "$output" = "$(cat "$web/dist/app.css")" ]
    run curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/ui/other.js"
    [ "$output" = 404 ]
}

@test "dashboard: every page shows the live cluster" {
    needs_browser
    corgid_start
    some_jobs
    walk pages
}

@test "dashboard: what corgi advise says of Slurm's jobs" {
    needs_browser
    corgid_start
    example=$BATS_TEST_DIRNAME/../../examples/slurm
    "$CORGI_BIN/corgi" advise --from-slurm "$example/sacct.txt" --slurm-nodes "$example/sinfo.txt" --policy fifo \
        --draws 2 --price 0.3 --publish --socket "$CORGID_SOCKET" > "$CORGID_DIR/advice"
    walk advice
}

@test "dashboard: a quote as one types, then the job runs and is measured" {
    needs_browser
    corgid_start
    walk submit
}

@test "dashboard: an operator drains a device, previews a policy and applies it" {
    needs_browser
    corgid_start
    walk operate
}

@test "dashboard: too few rights are refused with a sentence" {
    needs_browser
    corgid_start
    walk rights
}

@test "dashboard: it says when the daemon is gone, and comes back with it" {
    needs_browser
    corgid_start
    rm -f "$pictures/ready"
    walk restart > "$CORGID_DIR/walk" 2>&1 3>&- &
    walker=$!
    for _ in $(seq 300); do
        [ -e "$pictures/ready" ] && break
        sleep 0.1
    done
    corgid_stop
    sleep 2
    corgid_start
    api POST /v1/jobs '{"name": "after-the-restart", "need": {"kind": "best_effort"}}' > /dev/null
    wait $walker || {
        cat "$CORGID_DIR/walk"
        false
    }
    rm -f "$pictures/ready"
}

@test "dashboard: the keyboard reaches every device" {
    needs_browser
    corgid_start
    walk keyboard
}

@test "dashboard: hundreds of devices are drawn on a canvas" {
    needs_browser
    printf 'nodes:\n  - {name: old, count: 25, gpu: k80, gpus: 8}\n  - {name: new, count: 25, gpu: v100-16, gpus: 8}\n' \
        > "$CORGID_DIR/cluster.yaml"
    sed -i "s|^sim: {|sim: {cluster_file: $CORGID_DIR/cluster.yaml, |" "$CORGID_DIR/c.yaml"
    corgid_start
    some_jobs
    walk many
}

@test "dashboard: pictures of all pages, and nothing serious by axe" {
    needs_browser
    corgid_start
    some_jobs
    walk looks
}
