#!/usr/bin/env bats
# tools/reach on a tiny tree whose lines can be counted by hand.

setup() {
    reach="$BATS_TEST_DIRNAME/../../tools/reach"
    tree=$(mktemp -d)
    mkdir -p "$tree"/src/{base,lab,corgi,corgid,corgi-probe}
    cat > "$tree/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
include_directories(src)
add_library(base STATIC src/base/all.c src/base/table.c)
add_library(lab STATIC src/lab/play.c)
foreach(name corgi corgid corgi-probe)
    add_executable(${name} src/${name}/main.c)
    target_link_libraries(${name} lab base)
endforeach()
END
    # 21 lines: 8 of functions of the daemon, 4 of corgi's, 4 of nobody's, 5 of the file.
    cat > "$tree/src/base/all.c" << 'END'
#include "base/all.h"

static int helper(int x)
{
    return x + 1;
}

int for_daemon(int x)
{
    return helper(x);
}

int for_corgi(int x)
{
    return x - 1;
}

int for_nobody(int x)
{
    return helper(x) + for_corgi(x);
}
END
    # 11 lines, 4 of them a function that nobody calls.
    cat > "$tree/src/base/all.h" << 'END'
#ifndef ALL_H
#define ALL_H
int for_daemon(int x);
int for_corgi(int x);
int for_nobody(int x);
int play(int x);
static inline int unused_inline(int x)
{
    return x;
}
#endif
END
    # Data that only corgi reads, in a file without functions.
    printf 'extern const int table[];\nconst int table[] = {1, 2};\n' > "$tree/src/base/table.c"
    # A header of the lab that the lab's file includes.
    printf '#define LEVEL 3\n' > "$tree/src/lab/level.h"
    printf '#include "base/all.h"\n#include "lab/level.h"\nint play(int x)\n{\n    return x + LEVEL;\n}\n' \
        > "$tree/src/lab/play.c"
    for name in corgid corgi-probe; do
        printf '#include "base/all.h"\nint main(int n, char **w)\n{\n    (void)w;\n    return for_daemon(n);\n}\n' \
            > "$tree/src/$name/main.c"
    done
    printf '#include "base/all.h"\nextern const int table[];\nint main(int n, char **w)\n{\n    (void)w;\n    return for_corgi(n) + play(n) + for_daemon(n) + table[0];\n}\n' \
        > "$tree/src/corgi/main.c"
}

teardown() {
    rm -r "$tree"
}

row() { # folder: lines, daemon, corgi, nothing
    jq -r ".folders[\"$1\"] | \"\(.lines) \(.daemon) \(.corgi) \(.nothing)\"" <<< "$output"
}

@test "every line counts once, for who reaches it" {
    run "$reach" --source "$tree" --json
    echo "$output"
    [ "$status" -eq 0 ]
    # all.c 8 + 5, all.h 7 for the daemon; all.c 4, table.c 2 for corgi; 4 and 4 for nobody
    [ "$(row src/base)" = "34 20 6 8" ]
    [ "$(row src/lab)" = "7 0 7 0" ]
    [ "$(row src/corgi)" = "7 0 7 0" ]
    [ "$(row src/corgid)" = "6 6 0 0" ]
    [ "$(jq '.product, .lab, .unreached_functions' <<< "$output" | paste -s -d ' ')" = "53 7 2" ]
    [ "$(jq '.sum | add' <<< "$output")" = 60 ]
}

@test "functions that no program reaches are listed, and fail the check" {
    run "$reach" --source "$tree" --functions --check
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"src/base/all.c:18: for_nobody (4 lines)"* ]]
    [[ $output == *"src/base/all.h:7: unused_inline (4 lines)"* ]]
    [[ $output != *": helper"* ]]
    [[ $output == *"2 functions are reached by no program"* ]]
}

@test "too many lines fail the check, and nothing else does when all is reached" {
    sed -i '/^int for_nobody/,$d' "$tree/src/base/all.c"
    sed -i '/unused_inline/,/^}/d' "$tree/src/base/all.h"
    run "$reach" --source "$tree" --check
    echo "$output"
    [ "$status" -eq 0 ]
    run "$reach" --source "$tree" --check --product-max 44 --lab-max 6
    [ "$status" -eq 1 ]
    [[ $output == *"product has 45 lines, more than 44"* ]]
    [[ $output == *"lab has 7 lines, more than 6"* ]]
}
