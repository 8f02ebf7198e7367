#!/usr/bin/env bats
# tools/check-includes against small trees made for it.

setup() {
    check="$BATS_TEST_DIRNAME/../../tools/check-includes"
    tree=$(mktemp -d)
    mkdir -p "$tree"/src/{base,world,nn,loop/estimate,loop/refine,store,corgi}
    header base/err
    header world/gpu '"base/err.h"'
    header loop/types '"world/gpu_sheet.h"'
    header loop/estimate/estimate '"loop/types.h"'
    header store/store '"loop/types.h"'
    printf '#include "base/err.h"\n\n#include <stdio.h>\n' > "$tree/src/base/err.c"
    printf '#include "store/store.h"\n' > "$tree/src/corgi/main.c"
}

teardown() {
    rm -r "$tree"
}

header() { # path-without-.h [include]
    printf '/* %s */\n#pragma once\n%s\n' "$1" "${2:+#include $2}" > "$tree/src/$1.h"
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
    header loop/refine/refine '"loop/place/place.h"'
    assert_refused 'the stage refine/ may not include the stage place/'
}

@test "a .c must include its own header first" {
    printf '#include <stdio.h>\n#include "base/err.h"\n' > "$tree/src/base/err.c"
    assert_refused 'src/base/err.c:1: the first include must be its own header'
}

@test "a header that can be included twice is refused" {
    printf 'int err_set(void);\n' > "$tree/src/base/err.h"
    assert_refused 'src/base/err.h:1: a header begins with #pragma once'
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

@test "what ships never includes the lab, a program's command neither" {
    mkdir "$tree/src/lab"
    header lab/play '"loop/types.h"'
    run "$check" "$tree"
    [ "$status" -eq 0 ]
    printf '#include "lab/play.h"\n' > "$tree/src/corgi/cmd_sim.c"
    assert_refused 'src/corgi/cmd_sim.c:1: corgi/ may not include lab/'
}

# Two modules of world/ that include each other, one of them only in its .c.
circle() {
    header world/node '"world/gpu.h"'
    printf '#include "world/gpu.h"\n#include "world/node.h"\n' > "$tree/src/world/gpu.c"
}

@test "modules of a folder that need each other are refused" {
    circle
    assert_refused 'src/world/gpu: needs each other with node'
    [[ $output == *'src/world/node: needs each other with gpu'* ]]
}

@test "a longer circle is found, and who only uses it is not in it" {
    header world/one '"world/two.h"'
    header world/two '"world/three.h"'
    header world/three
    printf '#include "world/three.h"\n#include "world/one.h"\n' > "$tree/src/world/three.c"
    header world/user '"world/one.h"'
    assert_refused 'src/world/one: needs each other with three two'
    [[ $output != *'src/world/user: '* ]]
}

@test "a private header belongs to its folder and closes no circle" {
    header world/gpu_private '"world/gpu.h"'
    printf '#include "world/gpu.h"\n#include "world/gpu_private.h"\n' > "$tree/src/world/gpu.c"
    header world/node
    printf '#include "world/node.h"\n#include "world/gpu_private.h"\n' > "$tree/src/world/node.c"
    run "$check" "$tree"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "known findings are a note, and may not become more" {
    circle
    run "$check" --known cycles=2 "$tree"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "note: 2 modules in a circle of includes, 2 known" ]
    run "$check" --known cycles=2 --list "$tree"
    [[ $output == *'  src/world/gpu: needs each other with node'* ]]
    run "$check" --known cycles=1 "$tree"
    [ "$status" -eq 1 ]
    [[ $output == *'2 modules in a circle of includes; 1 were known'* ]]
    run "$check" --known cycles=3 "$tree"
    [ "$status" -eq 0 ]
    [[ $output == *'lower the number'* ]]
}

@test "two files of one name are refused, but for main.c" {
    mkdir "$tree/src/corgid"
    printf '#include "loop/types.h"\n' > "$tree/src/corgid/main.c"
    run "$check" "$tree"
    [ "$status" -eq 0 ]
    header loop/refine/estimate
    assert_refused 'src/loop/estimate/estimate.h: the same name as src/loop/refine/estimate.h'
}

@test "a struct tag defined in two files is refused" {
    printf '#include "base/err.h"\n\nstruct row {\n    int x;\n};\n' > "$tree/src/base/err.c"
    printf '/* struct row { */\nstatic const struct row *of(struct row *r)\n{\n}\n' \
        > "$tree/src/world/use.c"
    run "$check" "$tree"
    echo "$output"
    [ "$status" -eq 0 ]
    printf 'static struct row {\n    int y;\n} rows[2];\n' > "$tree/src/world/use.c"
    assert_refused 'src/base/err.c: struct row is also in src/world/use.c'
}

@test "an empty tree is an error, not a pass" {
    rm -r "$tree/src" && mkdir "$tree/src"
    assert_refused 'no sources'
}
