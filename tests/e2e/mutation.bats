#!/usr/bin/env bats
# tests/mutation/run on a tiny tree: what it changes, what it counts.

setup() {
    command -v clang > /dev/null || skip "clang is not installed"
    runner="$BATS_TEST_DIRNAME/../mutation/run"
    tree=$(mktemp -d)
    mkdir -p "$tree"/{src/base,tests/mutation}
    cat > "$tree/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES C)
include_directories(src)
add_compile_options(-fsanitize=address,undefined)
add_link_options(-fsanitize=address,undefined)
add_executable(test_clamp tests/test_clamp.c src/base/clamp.c)
enable_testing()
add_test(NAME test_clamp COMMAND test_clamp)
set_tests_properties(test_clamp PROPERTIES LABELS unit)
END
    cat > "$tree/src/base/clamp.c" << 'END'
#define LEAST 3
int clamp(int x, int most);
int unused(int x);

int clamp(int x, int most)
{
    static const int none = 7; /* not to be changed: a constant */

    if (x < LEAST && most > 0)
        x = LEAST;
    if (x > most)
        return most;
    return x + none - 7;
}

int unused(int x)
{
    return x == 1;
}
END
    cat > "$tree/tests/test_clamp.c" << 'END'
int clamp(int x, int most);

int main(void)
{
    return !(clamp(1, 9) == 3 && clamp(5, 9) == 5 && clamp(12, 9) == 9 && clamp(-2, 0) == -2);
}
END
}

teardown() {
    [ -z "${tree:-}" ] || rm -r "$tree"
}

mutate() {
    run env CORGI_MUTATION_ROOT="$tree" "$runner" src/base "$@"
    echo "$output"
}

@test "every kind of change is found, and none where only constants may stand" {
    mutate --list --count 100
    [ "$status" -eq 0 ]
    for change in 'condition clamp: x > most -> !(x > most)' \
        'logic clamp: x < LEAST && most > 0 -> x < LEAST || most > 0' \
        'arithmetic clamp: x + none -> x - none' 'return clamp: { -> { return 0;' \
        'comparison unused: x == 1 -> x != 1'; do
        [[ $output == *"$change"* ]]
    done
    [[ $output != *"constant clamp: 7 -> (7 + 1)"*"constant clamp: 7 -> (7 + 1)"* ]]
    [[ $output != *"constant clamp: 3 "* ]] # the macro's
}

@test "what is caught, survives and is not reached is counted, and all but the last listed" {
    mutate --count 100 --json
    [ "$status" -eq 0 ]
    json=$(sed -n '/^{/,$p' <<< "$output")
    [ "$(jq '.mutants == (.caught + (.survivors | length))' <<< "$json")" = true ]
    [ "$(jq '[.survivors[] | select(.function == "unused")] | length == 3 and
        all(.reached_by == [])' <<< "$json")" = true ]
    [ "$(jq '[.all[] | select(.function == "clamp" and
        (.kind == "return" or .kind == "condition" or .kind == "arithmetic" or .kind == "logic"))] |
        length == 6 and all(.caught_by == "test_clamp" and .caught_in == "unit")' <<< "$json")" = true ]
}

@test "an equivalent mutant needs a reason, and does not count" {
    mutate --count 100 --json
    before=$(sed -n '/^{/,$p' <<< "$output" | jq '.survivors | length')
    echo 'src/base/clamp.c unused: { -> { return 0;' > "$tree/tests/mutation/equivalent.txt"
    mutate --count 100
    [ "$status" -eq 1 ]
    [[ $output == *"no reason"* ]]
    echo '    Nobody calls it.' >> "$tree/tests/mutation/equivalent.txt"
    mutate --count 100 --json
    json=$(sed -n '/^{/,$p' <<< "$output")
    [ "$(jq '.equivalent' <<< "$json")" = 1 ]
    [ "$(jq '.survivors | length' <<< "$json")" = $((before - 1)) ]
    mutate --count 100 --least 99.9
    [ "$status" -eq 1 ]
}
