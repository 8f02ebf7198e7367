#!/usr/bin/env bats
# kill -9 under six connections, with real jobs and backups that are put back: the short
# form of `tests/chaos/kills --kills 200`.

@test "what was acknowledged is there, once, under its own number, also after a backup was put back" {
    run timeout 300 python3 "$BATS_TEST_DIRNAME/../chaos/kills" --kills "${CORGI_KILLS:-13}"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *" 0 lost, 0 doubled, 0 numbers reused, 0 processes left"* ]]
    [[ $output == *" backups put back"* ]]
}
