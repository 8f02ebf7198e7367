#!/usr/bin/env bats
# ./test with cmake, ctest and the checks replaced: what it counts, what it tries twice.

setup() {
    tree=$(mktemp -d)
    mkdir -p "$tree"/{tools,stubs} "$tree"/build/dev/Testing/Temporary
    cp "$BATS_TEST_DIRNAME/../../test" "$tree/test"
    printf 'packages_test=()\npackages_install() { return 0; }\n' > "$tree/tools/packages.sh"
    for name in format includes cppcheck shell; do
        stub "$tree/tools/check-$name" 'exit 0'
    done
    stub "$tree/stubs/cmake" 'exit 0'
    # shellcheck disable=SC2016  # for the stub
    # Fails by name: what stands in fail_once fails at the first try, in fail_always at each.
    stub "$tree/stubs/ctest" '
temporary=build/dev/Testing/Temporary
all=(unit_a unit_b e2e_a e2e_b e2e_c scenario_kill)
if [[ " $* " == *" -N "* ]]; then
    printf "  Test #%d: %s\n" 1 e2e_a 2 e2e_b 3 e2e_c 4 scenario_kill
    exit 0
fi
echo "$*" >> calls
pattern=. preset=$2
while (($#)); do
    [[ $1 != -R ]] || pattern=$2
    shift
done
count=0 bad=0
for name in "${all[@]}"; do
    [[ $name =~ $pattern ]] || continue
    count=$((count + 1))
    if grep -qxs "$name" fail_always || grep -qxs "$name" "fail_$preset" || { [[ $pattern == . ]] && grep -qxs "$name" fail_once; }; then
        bad=$((bad + 1))
        echo "$count:$name" >> $temporary/LastTestsFailed.log
        echo "$count/6 Test #$count: $name ...***Failed 1.00 sec"
    else
        echo "$count/6 Test #$count: $name ... Passed 1.00 sec"
    fi
done
echo "50% tests passed, $bad tests failed out of $count"
exit $((bad > 0))'
}

teardown() {
    rm -r "$tree"
}

stub() { # file body
    printf '#!/usr/bin/env bash\n%s\n' "$2" > "$1"
    chmod +x "$1"
}

quick_test() { whole_test --quick; }

whole_test() { # [OPTION]
    run env PATH="$tree/stubs:$PATH" "$tree/test" "$@"
    echo "$output"
}

@test "a run in which all pass counts builds, checks and tests" {
    stub "$tree/tools/check-shell" 'sleep 1' # the build does not wait for it, the count does
    quick_test
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "11 passed, 0 failed" ]
    [[ $output != *repeated* ]]
    [ "$(wc -l < "$tree/calls")" -eq 1 ]
}

@test "a test of processes that passes at the second try is named" {
    printf 'e2e_b\nscenario_kill\n' > "$tree/fail_once"
    quick_test
    [ "$status" -eq 0 ]
    [[ $output == *"repeated: e2e_b"* ]]
    [[ $output == *"repeated: scenario_kill"* ]]
    [ "${lines[-1]}" = "11 passed, 0 failed" ]
    grep -F -- '-R ^(e2e_b|scenario_kill)$' "$tree/calls"
}

@test "more than two that needed a second try are a failure" {
    printf 'e2e_a\ne2e_b\nscenario_kill\n' > "$tree/fail_once"
    quick_test
    [ "$status" -eq 1 ]
    [[ $output == *"3 tests passed only at a second try"* ]]
    [ "${lines[-1]}" = "11 passed, 1 failed" ]
}

@test "a unit test is tried exactly once" {
    echo unit_a > "$tree/fail_once"
    quick_test
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "10 passed, 1 failed" ]
    [ "$(wc -l < "$tree/calls")" -eq 1 ]
}

@test "what fails twice is a failure, beside one that was repeated" {
    echo e2e_a > "$tree/fail_always"
    echo e2e_c > "$tree/fail_once"
    quick_test
    [ "$status" -eq 1 ]
    [[ $output == *"repeated: e2e_c"* ]]
    [[ $output != *"repeated: e2e_a"* ]]
    [ "${lines[-1]}" = "10 passed, 1 failed" ]
}

@test "a check that fails is counted and shown" {
    stub "$tree/tools/check-format" 'echo "src/a.c is laid out badly"; exit 1'
    quick_test
    [ "$status" -eq 1 ]
    [[ $output == *"src/a.c is laid out badly"* ]]
    [ "${lines[-1]}" = "10 passed, 1 failed" ]
}

@test "a build that fails ends the run and the checks beside it" {
    stub "$tree/stubs/cmake" 'echo "no rule to make it"; exit 1'
    stub "$tree/tools/check-cppcheck" "echo \$\$ > $tree/checking; exec sleep 60"
    quick_test
    [ "$status" -eq 1 ]
    [[ $output == *"no rule to make it"* ]]
    [ "${lines[-1]}" = "0 passed, 1 failed" ]
    [ ! -e "$tree/checking" ] || ! kill -0 "$(cat "$tree/checking")"
}

@test "the whole run builds and tests with sanitizers too, each test once" {
    whole_test
    [ "$status" -eq 0 ]
    [[ $output == *"build tsan"* ]]
    # Six tests and two builds more; there is no program that tsan could start.
    [ "${lines[-1]}" = "19 passed, 0 failed, 1 skipped" ]
    echo e2e_a > "$tree/fail_asan"
    whole_test
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "18 passed, 1 failed, 1 skipped" ]
    [ "$(grep -c asan "$tree/calls")" -eq 2 ]
}

@test "a build with sanitizers that fails is shown" {
    stub "$tree/stubs/cmake" '[[ $* != *tsan* ]] || { echo "no such thread"; exit 1; }'
    whole_test
    [ "$status" -eq 1 ]
    [[ $output == *"no such thread"* ]]
    [ "${lines[-1]}" = "18 passed, 1 failed, 1 skipped" ]
}
