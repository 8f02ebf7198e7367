# shellcheck shell=bash
# packages.sh - the Debian packages Corgi needs, and a function that installs what is
# missing.  Sourced by ./quickstart and ./test.

packages_build=(
    gcc libc6-dev cmake ninja-build pkg-config
    libjansson-dev libyaml-dev libsmartcols-dev
    libopenblas-dev coinor-libclp-dev zlib1g-dev libbz2-dev
    libsqlite3-dev libevent-dev libssl-dev libcurl4-openssl-dev
    libncurses-dev
)
# shellcheck disable=SC2034  # used by ./test
packages_test=(
    "${packages_build[@]}"
    libcmocka-dev bats jq clang-format clang-tidy cppcheck shellcheck groff-base libxml2-utils
    curl sqlite3 prometheus python3 openssl procps chromium tmux zsh fish
    mmdebstrap debhelper dpkg-dev buildah
    munge slurmctld slurmd slurm-client libslurm-dev slurmdbd mariadb-server-core
)

# Names of those that are not installed, one a line.
packages_missing() { # package...
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] ||
            echo "$package"
    done
}

# Asks nothing.  When all is there it needs neither network nor privileges.
packages_install() { # log package...
    local log=$1 missing as_root=()
    shift
    if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
        echo "This is not a Debian system: install these yourself if the build fails: $*" >&2
        return 0
    fi
    mapfile -t missing < <(packages_missing "$@")
    ((${#missing[@]} == 0)) && return 0
    if ((EUID != 0)); then
        if ! command -v sudo > /dev/null; then
            echo "Missing packages: ${missing[*]}. Install them as root." >&2
            return 1
        fi
        as_root=(sudo)
        echo "Installing ${#missing[@]} packages with sudo: ${missing[*]}"
    else
        echo "Installing ${#missing[@]} packages: ${missing[*]}"
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q)
    {
        "${as_root[@]}" update &&
            "${as_root[@]}" install --yes --no-install-recommends "${missing[@]}"
    } >> "$log" 2>&1 < /dev/null
}
