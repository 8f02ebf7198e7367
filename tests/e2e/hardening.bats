#!/usr/bin/env bats
# The built programs, read back: are they what cmake/hardening.cmake asks the compiler for?
# Sanitizers bring checks of their own, so only builds without them are looked at.
bats_require_minimum_version 1.5.0

programs=(corgi corgid corgi-probe)

setup() {
    command -v readelf > /dev/null || skip "readelf is not installed"
    if nm "$CORGI_BIN/corgid" | grep -qE '__(a|t)san_init'; then
        skip "a build with sanitizers"
    fi
}

@test "programs are loaded at random addresses" {
    for program in "${programs[@]}"; do
        echo "$program"
        readelf -hW "$CORGI_BIN/$program" | grep -qE 'Type: +DYN'
        readelf -dW "$CORGI_BIN/$program" | grep -q 'FLAGS_1.* PIE'
    done
}

@test "tables of pointers are read-only before main, and no stack or page is executable and writable" {
    for program in "${programs[@]}"; do
        echo "$program"
        readelf -dW "$CORGI_BIN/$program" | grep -q BIND_NOW
        readelf -lW "$CORGI_BIN/$program" > "$BATS_TEST_TMPDIR/segments"
        grep -q GNU_RELRO "$BATS_TEST_TMPDIR/segments"
        grep -qE 'GNU_STACK.* RW +0x' "$BATS_TEST_TMPDIR/segments"
        run ! grep -E 'LOAD.* (RWE|WE) ' "$BATS_TEST_TMPDIR/segments"
    done
}

@test "string functions are the checked ones, and frames are guarded" {
    for program in "${programs[@]}"; do
        echo "$program"
        nm -D "$CORGI_BIN/$program" > "$BATS_TEST_TMPDIR/symbols"
        for symbol in __stack_chk_fail __snprintf_chk __vsnprintf_chk; do
            grep -q " U $symbol@" "$BATS_TEST_TMPDIR/symbols"
        done
    done
}

@test "large frames are touched page by page, functions begin where jumps may land" {
    [ "$(uname -m)" = x86_64 ] || skip "marks of another processor"
    for program in "${programs[@]}"; do
        echo "$program"
        objdump -d --no-show-raw-insn "$CORGI_BIN/$program" > "$BATS_TEST_TMPDIR/code"
        # -fstack-clash-protection touches what it takes of the stack.
        # shellcheck disable=SC2016  # an operand of the assembler
        grep -qE 'or[lq]? +\$0x0,(0x[0-9a-f]+)?\(%rsp' "$BATS_TEST_TMPDIR/code"
        # The start files of Debian 12 lack the mark, so the kernel does not enforce it there.
        grep -A 1 '<main>:' "$BATS_TEST_TMPDIR/code" | grep -q endbr64
    done
}
