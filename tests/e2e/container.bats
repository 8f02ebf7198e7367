#!/usr/bin/env bats
# packaging/Containerfile: the image is built on a clean Debian 12, its daemon runs as a user
# without rights, and takes jobs.
#
# The stage that compiles is left out: its packages are those of this build.  Its base image is
# made here, as no registry may answer.
bats_require_minimum_version 1.5.0

setup_file() {
    for tool in buildah mmdebstrap dpkg-buildpackage dh; do
        command -v "$tool" > /dev/null || skip "$tool is not installed"
    done
    [ "$(id -u)" = 0 ] || skip "only root makes a root"
    export BUILDAH_ISOLATION=chroot CONTAINERS_STORAGE_CONF=$BATS_FILE_TMPDIR/storage.conf
    printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$BATS_FILE_TMPDIR" "$BATS_FILE_TMPDIR" \
        > "$CONTAINERS_STORAGE_CONF"
    # What a mirror gives is kept beside the build.
    local kept=$CORGI_BIN/../debian12.tar base
    [ -s "$kept" ] || mmdebstrap --quiet --format=tar --variant=apt bookworm "$kept.part" 2> "$BATS_FILE_TMPDIR/log" ||
        skip "no Debian 12 can be made here: $(tail -n 1 "$BATS_FILE_TMPDIR/log")"
    [ -s "$kept" ] || mv "$kept.part" "$kept"
    base=$(buildah from scratch 2> "$BATS_FILE_TMPDIR/log") || skip "no image can be made here: $(tail -n 1 "$BATS_FILE_TMPDIR/log")"
    buildah add -q "$base" "$kept" / > /dev/null
    buildah commit -q "$base" docker.io/library/debian:12 > /dev/null
    buildah run "$base" -- apt-get -qq update > /dev/null 2>&1 || skip "no packages can be fetched here"
    mkdir -p "$BATS_FILE_TMPDIR/built/corgi/build"
    CORGI_DEB_OUT=$BATS_FILE_TMPDIR/built/corgi/build/deb "$BATS_TEST_DIRNAME/../../packaging/build-deb" "$CORGI_BIN/.." > /dev/null
    touch "$BATS_FILE_TMPDIR/ready"
}

setup() {
    [ -e "$BATS_FILE_TMPDIR/ready" ] || skip "there is no base image"
}

teardown() {
    [ -n "${daemon:-}" ] || return 0
    kill "$daemon" 2> /dev/null || true
    wait "$daemon" 2> /dev/null || true # it writes into the storage until then
}

teardown_file() {
    # What bats removes next is nobody's any more.
    buildah rm --all > /dev/null 2>&1 || true
    rm -rf "$BATS_FILE_TMPDIR/graph" "$BATS_FILE_TMPDIR/run" 2> /dev/null || true
}

@test "the image is built, and its daemon runs the simulated cluster as its own user" {
    cd "$BATS_TEST_DIRNAME/../.."
    buildah bud --pull-never --build-context "build=$BATS_FILE_TMPDIR/built" -t corgi -f packaging/Containerfile . \
        > "$BATS_TEST_TMPDIR/log" 2>&1 || {
        tail -n 20 "$BATS_TEST_TMPDIR/log"
        false
    }
    box=$(buildah from --pull-never localhost/corgi)
    [ "$(buildah inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "$box")" = \
        "corgi [corgid --config /etc/corgi/corgid.yaml]" ]
    buildah run "$box" -- corgid --config /etc/corgi/corgid.yaml > "$BATS_TEST_TMPDIR/daemon" 2>&1 3>&- &
    daemon=$!
    for _ in $(seq 60); do
        run buildah run "$box" -- corgi nodes
        [ "$status" -ne 0 ] || break
        sleep 0.5
    done
    echo "$output"
    [[ $output == *kepler-1*volta-4* ]]
    run buildah run "$box" -- corgi submit --steps 1 -- true
    echo "$output"
    [[ $output == "Submitted job 1"* ]]
    [ "$(buildah run "$box" -- id -un)" = corgi ]
    buildah run "$box" -- test -O /var/lib/corgi/corgi.db
}
