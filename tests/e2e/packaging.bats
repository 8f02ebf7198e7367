#!/usr/bin/env bats
# What is installed beside the programs: man pages and completion of the daemon and the
# probe, and the daemon's unit.
bats_require_minimum_version 1.5.0

# install_into FOLDER [OPTION...]: as a packager does; the unit is $unit then
install_into() {
    DESTDIR=$1 cmake --install "$CORGI_BIN/.." "${@:2}" > "$BATS_TEST_TMPDIR/install.log"
    unit=$(find "$1" -name corgid.service)
}

setup() {
    root=$BATS_TEST_TMPDIR/root
}

@test "the daemon and the probe have man pages that render without a warning" {
    command -v groff > /dev/null || skip "groff is not installed"
    for program in corgid corgi-probe corgi-report; do
        "$CORGI_BIN/$program" --man-page > "$BATS_TEST_TMPDIR/$program.1"
        run groff -man -Tutf8 -P-cbou -ww "$BATS_TEST_TMPDIR/$program.1"
        [ "$status" -eq 0 ]
        [[ $output != *warning* && $output == *SYNOPSIS* && $output == *"$program"* ]]
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
    install_into "$root"
    for line in Type=notify KillMode=process Delegate=yes; do
        grep -qx "$line" "$unit"
    done
}

@test "what the unit starts is installed, and starts with the installed config" {
    for prefix in /usr /opt/corgi; do
        rm -rf "$root"
        install_into "$root" --prefix "$prefix"
        read -r program option config <<< "$(sed -n 's/^ExecStart=//p' "$unit")"
        [ "$program" = "$prefix/bin/corgid" ]
        [ "$option" = --config ]
        [ "$prefix" != /usr ] || [ "$config" = /etc/corgi/corgid.yaml ]
        "$root$prefix/bin/corgi" config check --kind daemon "$root$config"
        CORGI_SOCKET=$BATS_TEST_TMPDIR/socket
        export CORGI_SOCKET
        "$root$program" --config "$root$config" --state "$BATS_TEST_TMPDIR/state" \
            --socket "$CORGI_SOCKET" 2> "$BATS_TEST_TMPDIR/log" 3>&- &
        pid=$!
        for _ in $(seq 100); do
            "$root$prefix/bin/corgi" nodes > /dev/null 2>&1 && break
            sleep 0.1
        done
        run "$root$prefix/bin/corgi" nodes
        kill "$pid"
        wait "$pid"
        [ "$status" -eq 0 ]
        rm -rf "$BATS_TEST_TMPDIR/state"
    done
    [ -s "$root/opt/corgi/share/corgi/grafana-dashboard.json" ]
    [ -s "$root/opt/corgi/share/corgi/clients/corgi_heartbeat.py" ]
}

@test "an operator's own config is not overwritten" {
    install_into "$root" --prefix /usr
    echo 'engine: sim # mine' > "$root/etc/corgi/corgid.yaml"
    install_into "$root" --prefix /usr
    grep -q mine "$root/etc/corgi/corgid.yaml"
    cmp "$BATS_TEST_DIRNAME/../../packaging/corgid.yaml" "$root/usr/share/corgi/corgid.yaml"
}

@test "systemd finds nothing wrong with the unit" {
    command -v systemd-analyze > /dev/null || skip "systemd-analyze is not installed"
    install_into "$root" --prefix /usr
    # As it would be installed, with programs that are there.
    mkdir -p "$BATS_TEST_TMPDIR/units"
    for file in "$(dirname "$unit")"/corgi*.service; do
        sed "s|/usr/bin/corgi|$CORGI_BIN/corgi|" "$file" > "$BATS_TEST_TMPDIR/units/${file##*/}"
        run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR/units/${file##*/}"
        echo "$output"
        # Lines about other units of the machine are not ours.
        [ -z "$(grep -i corgi <<< "$output" || true)" ]
    done
}
