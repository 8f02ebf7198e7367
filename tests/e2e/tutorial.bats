#!/usr/bin/env bats
# docs/tutorial.md, block by block in one shell as somebody would paste it, and what the
# texts between the blocks say of it; commands and files that the guides name are there.
bats_require_minimum_version 1.5.0

docs=$BATS_TEST_DIRNAME/../../docs

setup() {
    PATH=$CORGI_BIN:$PATH
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    [ ! -s corgi-tutorial/pid ] || kill "$(< corgi-tutorial/pid)" 2> /dev/null || true
}

@test "the tutorial works as printed, in less than two minutes" {
    sed -n 's/^    \([^ ]\)/\1/p' "$docs/tutorial.md" > commands
    [ "$(grep -c . commands)" -ge 25 ]
    # Each command is told before its output; the daemon's number is kept for the end.
    while IFS= read -r line; do
        printf 'echo %q\n%s\n' "\$ $line" "$line"
        [[ $line != corgid* ]] || echo 'echo $! > pid'
    done < commands > script
    began=$SECONDS
    timeout 240 bash -e -o pipefail script > out 2> err || {
        tail -n 20 out
        cat err
        false
    }
    ((SECONDS - began < 120))
    [ ! -s err ]
    # after COMMAND WORDS: what it printed holds the words
    after() {
        awk -v command="\$ $1" 'index($0, "$ ") == 1 { on = index($0, command) == 1 } on' out > part
        grep -q -- "$2" part || {
            cat part
            false
        }
    }
    after "corgi quote" "not promised yet\|not yet"
    after "corgi show 1" "promised"
    after "corgi submit --name second" "promised  5"
    after "corgi queue" "other-6"
    after "corgi why 1" "start on"
    after "corgi estimates 1" "measured"
    after "corgi policy preview" "promises kept"
    after "corgi policy show" "power_limit *2"
    after "corgi nodes" "kepler-1"
    after "ls report" "report/report.html"
    after "corgi store check" "sound"
}

@test "every command the guides name is a command, and every link leads somewhere" {
    for page in "$docs"/guides/*.md "$docs/tutorial.md"; do
        while read -r name; do
            corgi help "$name" > /dev/null || {
                echo "$page: corgi $name"
                false
            }
        done < <(grep -ohE '`corgi [a-z]+' "$page" | sed 's/.*corgi //' | sort -u)
        while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || {
                echo "$page: $link"
                false
            }
        done < <(grep -ohE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^http')
        # Options that are named with a command's line belong to some command.
        while read -r option; do
            grep -qrF -- "$option" <(corgi submit --help; corgi policy preview --help; corgi sim --help; corgi doctor --help) || {
                echo "$page: $option"
                false
            }
        done < <(grep -ohE -- '`--[a-z-]+' "$page" | tr -d '`' | sort -u)
    done
}
