#!/usr/bin/env bats
# tools/check-includes against small trees made for it.

setup() {
    check="$BATS_TEST_DIRNAME/../../tools/check-includes"
    tree=$(mktemp -d)
    mkdir -p "$tree"/src/{base,world,nn,loop/estimate,loop/refine,sim,corgi}
    header base/err
    header world/gpu '"base/err.h"'
    header loop/types '"world/gpu_sheet.h"'
    header loop/estimate/estimate '"loop/types.h"'
    header sim/sim '"loop/types.h"'
    printf '#include "base/err.h"\n\n#include <stdio.h>\n' > "$tree/src/base/err.c"
    printf '#include "sim/sim.h"\n' > "$tree/src/corgi/main.c"
}

teardown() {
    rm -r "$tree"
}

header() { # path-without-.h [include]
    local guard
    guard=CORGI_$(tr 'a-z/-' 'A-Z__' <<< "$1")_H
    printf '/* %s */\n#ifndef %s\n#define %s\n%s\n#endif\n' "$1" "$guard" "$guard" \
        "${2:+#include $2}" > "$tree/src/$1.h"
}

assert_refused() { # words
    run "$check" "$tree"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"$1"* ]]
}

@test "this tree is clean" {
    run "$check"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a tree whose includes point down is clean" {
    run "$check" "$tree"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "an include that points up is refused with file and line" {
    printf '#include "base/err.h"\n#include "loop/types.h"\n' > "$tree/src/base/err.c"
    assert_refused 'src/base/err.c:2: base/ may not include loop/'
}

@test "folders of one layer do not see each other" {
    header nn/tape '"world/gpu_sheet.h"'
    assert_refused 'nn/ may not include world/'
}

@test "a stage of the loop does not see another" {
    header loop/refine/refine '"loop/estimate/estimate.h"'
    assert_refused 'the stage refine/ may not include the stage estimate/'
}

@test "a .c must include its own header first" {
    printf '#include <stdio.h>\n#include "base/err.h"\n' > "$tree/src/base/err.c"
    assert_refused 'src/base/err.c:1: the first include must be its own header'
}

@test "a wrong or missing header guard is refused" {
    printf '#ifndef ERR_H\n#define ERR_H\n#endif\n' > "$tree/src/base/err.h"
    assert_refused 'src/base/err.h:1: the header guard must be CORGI_BASE_ERR_H'
    : > "$tree/src/base/err.h"
    assert_refused 'the header guard must be CORGI_BASE_ERR_H'
}

@test "our includes are written from src/ on" {
    printf '#include "base/err.h"\n#include "mem.h"\n' > "$tree/src/base/err.c"
    assert_refused 'write "mem.h" from src/ on'
    printf '#include "base/err.h"\n#include "base/../loop/types.h"\n' > "$tree/src/base/err.c"
    assert_refused 'from src/ on'
}

@test "a folder nobody listed is refused" {
    mkdir "$tree/src/misc"
    header misc/thing
    assert_refused 'src/misc/ is not in the list'
}

@test "an empty tree is an error, not a pass" {
    rm -r "$tree/src" && mkdir "$tree/src"
    assert_refused 'no sources'
}
