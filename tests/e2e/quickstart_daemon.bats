#!/usr/bin/env bats
# What ./quickstart leaves running: a daemon of its own, found again, ended by name.

setup() {
    dir=$(mktemp -d /tmp/corgi-quick.XXXXXX)
    tool="$BATS_TEST_DIRNAME/../../tools/quickstart-daemon"
}
teardown() {
    "$tool" stop "$CORGI_BIN" "$dir" > /dev/null 2>&1 || true
    rm -rf "$dir"
}

@test "it starts once, has jobs to look at, outlives the shell, and ends" {
    run bash -c "'$tool' start '$CORGI_BIN' '$dir'"
    [ "$status" -eq 0 ]
    [[ $output == *"a simulated cluster runs"* ]]
    pid=$(< "$dir/corgid.pid")
    kill -0 "$pid"
    CORGI_SOCKET=$(< "$dir/socket")
    export CORGI_SOCKET
    [ "$("$CORGI_BIN/corgi" queue --parsable | grep -c 'resnet\|bert\|lstm')" -eq 3 ]
    "$tool" start "$CORGI_BIN" "$dir"
    [ "$(< "$dir/corgid.pid")" = "$pid" ]
    [ "$("$CORGI_BIN/corgi" queue --parsable | grep -c 'resnet\|bert\|lstm')" -eq 3 ]
    "$tool" stop "$CORGI_BIN" "$dir"
    run kill -0 "$pid"
    [ "$status" -ne 0 ]
    run "$tool" stop "$CORGI_BIN" "$dir"
    [ "$status" -eq 1 ]
}

@test "a folder whose path is too long for a socket works too" {
    deep=$dir/$(printf 'd%.0s' $(seq 120))
    "$tool" start "$CORGI_BIN" "$deep"
    CORGI_SOCKET=$(< "$deep/socket") "$CORGI_BIN/corgi" nodes > /dev/null
    "$tool" stop "$CORGI_BIN" "$deep"
}

@test "wrong use is told" {
    run "$tool" begin "$CORGI_BIN" "$dir"
    [ "$status" -eq 2 ]
    [[ $output == *Usage* ]]
}
