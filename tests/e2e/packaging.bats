#!/usr/bin/env bats
# What is installed beside the programs: man pages and completion of the daemon and the
# probe, and the daemon's unit.
bats_require_minimum_version 1.5.0

unit=$BATS_TEST_DIRNAME/../../packaging/corgid.service

@test "the daemon and the probe have man pages that render without a warning" {
    command -v groff > /dev/null || skip "groff is not installed"
    for program in corgid corgi-probe; do
        "$CORGI_BIN/$program" --man-page > "$BATS_TEST_TMPDIR/$program.1"
        run groff -man -Tutf8 -P-cbou -ww "$BATS_TEST_TMPDIR/$program.1"
        [ "$status" -eq 0 ]
        [[ $output != *warning* && $output == *SYNOPSIS* && $output == *"$program"* ]]
        # Every option of the help is in the page.
        for option in $("$CORGI_BIN/$program" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
            [[ $output == *"$option"* ]]
        done
    done
}

# completed PROGRAM WORD...: what bash offers for the last word
completed() {
    bash -c 'source <("$1" --bash-completion); name=${1##*/}; shift
        COMP_WORDS=("$name" "$@"); COMP_CWORD=$#; "_$name"; echo "${COMPREPLY[@]}"' _ "$CORGI_BIN/$1" "${@:2}"
}

@test "bash completes options of the daemon and the probe" {
    [ "$(completed corgi-probe --out)" = "--output --output-mb" ]
    [ "$(completed corgid --conf)" = --config ]
}

@test "the unit lets jobs go on and gives the daemon its groups" {
    for line in Type=notify KillMode=process Delegate=yes; do
        grep -qx "$line" "$unit"
    done
}

@test "systemd finds nothing wrong with the unit" {
    command -v systemd-analyze > /dev/null || skip "systemd-analyze is not installed"
    mkdir -p "$BATS_TEST_TMPDIR/units"
    # As it would be installed, with programs that are there.
    sed "s|/usr/bin/corgid|$CORGI_BIN/corgid|" "$unit" > "$BATS_TEST_TMPDIR/units/corgid.service"
    run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR/units/corgid.service"
    echo "$output"
    # Lines about other units of the machine are not ours.
    [ -z "$(grep -i corgid <<< "$output" || true)" ]
}
