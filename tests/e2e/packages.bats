#!/usr/bin/env bats
# The Debian packages in a clean Debian 12: installed, used, upgraded from the version before
# with its store, purged.  What is packaged are the programs of this build.
#
# No systemd runs in such a root: tests/support/systemctl does what the packages' scripts ask
# of it, by the unit that is installed.  The unit's sandbox is tried in the last case.
bats_require_minimum_version 1.5.0

setup_file() {
    export root=$BATS_FILE_TMPDIR/root debs=$BATS_FILE_TMPDIR/debs
    for tool in mmdebstrap dpkg-buildpackage dh sqlite3; do
        command -v "$tool" > /dev/null || skip "$tool is not installed"
    done
    [ "$(id -u)" = 0 ] || skip "only root makes a root"
    CORGI_DEB_OUT=$debs "$BATS_TEST_DIRNAME/../../packaging/build-deb" "$CORGI_BIN/.." > "$BATS_FILE_TMPDIR/names"
    # What a mirror gives is kept beside the build.
    local kept=$CORGI_BIN/../debian12.tar
    [ -s "$kept" ] || mmdebstrap --quiet --format=tar --variant=apt bookworm "$kept.part" 2> "$BATS_FILE_TMPDIR/log" ||
        skip "no Debian 12 can be made here: $(tail -n 1 "$BATS_FILE_TMPDIR/log")"
    [ -s "$kept" ] || mv "$kept.part" "$kept"
    mkdir -p "$root"
    tar -x -C "$root" -f "$kept"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    install "$BATS_TEST_DIRNAME/../support/systemctl" "$root/usr/bin/systemctl"
    mkdir -p "$root/run/systemd/system" "$root/etc/systemd/system/multi-user.target.wants" "$root/debs"
    touch "$root/etc/systemd/system/multi-user.target.wants/other.service"
    before_version
    cp "$debs"/*.deb "$root/debs"
    inside apt-get -qq update || skip "no packages can be fetched here"
    inside sh -c 'apt-get -qq install --no-install-recommends adduser > /dev/null 2>&1'
    names > "$BATS_FILE_TMPDIR/clean"
}

teardown_file() {
    [ ! -s "$root/run/corgid.stand-in" ] || kill "$(< "$root/run/corgid.stand-in")" || true
}

setup() {
    [ -e "$BATS_FILE_TMPDIR/clean" ] || skip "there is no clean root"
}

# A command in the root, with /proc and /dev of its own.
inside() {
    # shellcheck disable=SC2016
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$root" "$@" 3>&-
}

# Every file of the root but the books of apt and dpkg, and what adduser leaves anywhere.
names() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./debs -o \
        -path ./var/lib/apt -o -path ./var/cache -o -path ./var/lib/dpkg -o -path ./var/log -o \
        -path ./run/adduser -o -path './etc/*shadow-' \) -prune -o -print) | sort
}

# The same packages as version 0.0.9.
before_version() {
    local deb
    mkdir -p "$root/before"
    for deb in "$debs"/*.deb; do
        dpkg-deb -R "$deb" "$debs/tree"
        sed -i -E 's/^(Version: ).*/\10.0.9/; s/\(= [0-9.]+\)/(= 0.0.9)/' "$debs/tree/DEBIAN/control"
        dpkg-deb -Znone -b "$debs/tree" "$root/before/$(basename "$deb")" > /dev/null
        rm -r "$debs/tree"
    done
}

@test "the packages install in a clean root, and the service starts as a user without rights" {
    inside sh -c 'apt-get -y -qq install --no-install-recommends /before/corgi-client_*.deb \
        /before/corgi-daemon_*.deb /before/corgi-probe_*.deb' > "$BATS_TEST_TMPDIR/log" 2>&1 || {
        cat "$BATS_TEST_TMPDIR/log"
        false
    }
    pid=$(< "$root/run/corgid.stand-in")
    [ "$(stat -c %U "/proc/$pid")" != root ]
    [ "$(stat -c %u "/proc/$pid")" = "$(inside id -u corgi)" ]
    [[ $(inside dpkg -s corgi-daemon) == *"Version: 0.0.9"* ]]
    run inside corgi doctor
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "no file is in two packages" {
    for deb in "$debs"/*.deb; do
        dpkg-deb -c "$deb" | awk '{ print $6 }' | grep -v '/$'
    done | sort | uniq -d > "$BATS_TEST_TMPDIR/twice"
    cat "$BATS_TEST_TMPDIR/twice"
    [ ! -s "$BATS_TEST_TMPDIR/twice" ]
}

@test "a user submits, the simulated cluster runs the job" {
    run inside setpriv --reuid=nobody --regid=nogroup --clear-groups corgi submit --name first --steps 1 -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "Submitted job 1"* ]]
    for _ in $(seq 150); do
        [[ $(inside corgi show 1) == *"done"* ]] && break
        sleep 0.2
    done
    [[ $(inside corgi queue --state "done") == *first* ]]
    run inside corgi submit --hold --name keeps -- true
    [ "$status" -eq 0 ]
}

@test "an upgrade brings the store of the version before up to date and keeps the queue and the config" {
    inside systemctl stop corgid
    # As version 0.0.9 wrote it: schema 4.
    sqlite3 "$root/var/lib/corgi/corgi.db" 'ALTER TABLE quotes DROP COLUMN detail_sum;
        ALTER TABLE decisions DROP COLUMN alternatives_sum; ALTER TABLE events DROP COLUMN data_sum;
        ALTER TABLE jobs DROP COLUMN cpus; ALTER TABLE jobs DROP COLUMN host_memory_gb;
        PRAGMA user_version = 4'
    echo '# my own line' >> "$root/etc/corgi/corgid.yaml"
    inside sh -c 'apt-get -y -qq install --no-install-recommends /debs/corgi-client_*.deb \
        /debs/corgi-daemon_*.deb /debs/corgi-probe_*.deb' > "$BATS_TEST_TMPDIR/log" 2>&1 || {
        cat "$BATS_TEST_TMPDIR/log"
        false
    }
    [[ $(inside dpkg -s corgi-daemon) == *"Version: 0.1.0"* ]]
    [ "$(sqlite3 "$root/var/lib/corgi/corgi.db" 'PRAGMA user_version')" -ge 6 ]
    run inside corgi store check /var/lib/corgi/corgi.db
    echo "$output"
    [[ $output == *": sound;"* ]]
    run inside corgi queue
    echo "$output"
    [[ $output == *keeps* ]]
    run inside corgi release 2
    [ "$status" -eq 0 ]
    grep -qx '# my own line' "$root/etc/corgi/corgid.yaml"
    run inside corgi doctor
    [ "$status" -eq 0 ]
}

@test "what the packages install is there: man pages, completions, rotation" {
    inside test -s /usr/share/bash-completion/completions/corgi -a -s /etc/logrotate.d/corgi-daemon \
        -a -s /usr/share/zsh/vendor-completions/_corgi -a -s /usr/share/fish/vendor_completions.d/corgi.fish
    [[ $(inside dpkg -L corgi-client) == *"/usr/share/man/man1/corgi-submit.1.gz"* ]]
}

@test "a purge leaves nothing" {
    pid=$(< "$root/run/corgid.stand-in")
    inside sh -c 'apt-get -y -qq purge --autoremove "corgi-*"' > "$BATS_TEST_TMPDIR/log" 2>&1 || {
        cat "$BATS_TEST_TMPDIR/log"
        false
    }
    run ! kill -0 "$pid"
    run ! inside getent passwd corgi
    run ! inside getent group corgi
    names > "$BATS_TEST_TMPDIR/after"
    diff "$BATS_FILE_TMPDIR/clean" "$BATS_TEST_TMPDIR/after"
}

@test "the daemon of the packages runs as its user under the unit's sandbox" {
    dpkg-deb -x "$debs"/corgi-daemon_*.deb "$BATS_TEST_TMPDIR/tree"
    unit=$BATS_TEST_TMPDIR/tree/lib/systemd/system/corgid.service
    sandbox="python3 $BATS_TEST_DIRNAME/../support/sandbox.py $unit"
    $sandbox true || skip "no sandbox can be made here"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    install -d -o 65534 "$BATS_TEST_TMPDIR/state"
    $sandbox setpriv --reuid=65534 --regid=65534 --clear-groups "$CORGI_BIN/corgid" \
        --config "$BATS_TEST_TMPDIR/tree/etc/corgi/corgid.yaml" --state "$BATS_TEST_TMPDIR/state" \
        --socket "$BATS_TEST_TMPDIR/state/s" 2> "$BATS_TEST_TMPDIR/log" 3>&- &
    pid=$!
    for _ in $(seq 200); do
        [ ! -S "$BATS_TEST_TMPDIR/state/s" ] || break
        sleep 0.05
    done
    run "$CORGI_BIN/corgi" submit --socket "$BATS_TEST_TMPDIR/state/s" --steps 1 -- true
    kill "$pid"
    wait "$pid"
    echo "$output"
    [ "$status" -eq 0 ]
}
