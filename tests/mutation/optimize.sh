#!/bin/sh
# optimize.sh - does a test fail when the optimizer ignores what it is there for?
#
# Works on a copy: one small change at a time in src/loop/optimize, and a unit or scenario
# test must fail.  Prints the survivors; status 0 when there are none.  Takes some
# minutes.  With a word as argument only the changes whose file or expression has that
# word are tried.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
only=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$root/src" "$root/tests" "$work"
cd "$work"

compile="${CC:-cc} -std=gnu17 -O2 -D_GNU_SOURCE -Isrc -Itests"
built=$root/build/dev # what is not changed comes from there
[ -e "$built/libcorgi_bench.a" ] || {
    echo "build first: cmake --preset dev && cmake --build --preset dev" >&2
    exit 2
}
libs="$built/libcorgi_bench.a $built/libcorgi_eval.a $built/libcorgi_sim.a
    $built/libcorgi_loop.a $built/libcorgi_world.a $built/libcorgi_nn.a
    $built/libcorgi_base.a
    $(pkg-config --libs cmocka cbc clp openblas yaml-0.1 jansson smartcols)
    -lCbcSolver -lpthread -lm"
tests="test_optimize_check test_optimize_groups test_optimize_audit test_optimize_stages
    test_optimize_solve optimize_levers"

for test in $tests; do
    for folder in unit scenario; do
        [ -e "tests/$folder/$test.c" ] || continue
        $compile -c "tests/$folder/$test.c" -o "$test.test.o"
    done
done

# The changed object comes first, so the library's own is not taken.
tests_pass() {
    for test in $tests; do
        # shellcheck disable=SC2086
        ${CC:-cc} "$test.test.o" "$@" $libs -o "$test.run"
        timeout 300 "./$test.run" >/dev/null 2>&1 || return 1
    done
}

tests_pass || { echo "the tests fail before anything was changed" >&2; exit 2; }

# file|sed expression
changes=$(
    cat <<'CHANGES'
stairs.c|s/(node->host_watts - node->sleep_watts + (node->awake/(0 * (node->awake/
work.c|s/return p->classes\[k\].progress \* rate \//return 0 * p->classes[k].progress * rate \//
finish.c|s/out->watts += out->awake\[n\] ? node->host_watts : node->sleep_watts/out->watts += 0/
finish.c|s/out->cost += out->watts - out->progress/out->cost += out->watts/
work.c|s/need = job->need \/ (c->adds ? c->devices : 1)/need = 0/
levers.c|s/if (l->spare->cost < out->cost)/if (0)/
limit.c|s/return s->watts <= p->limit_watts/return true/
quotas.c|s/held\[claims\[c\].job\] = left/held[claims[c].job] = 0 \&\& left/
groups.c|s/own < need_of(p, jobs\[e\])/own < 0 * need_of(p, jobs[e])/
groups.c|s/if (!(own > 0) || own < need_of.*/if (0)/
check.c|s/tally->margin \* factor < job->need/tally->margin * factor < 0 * job->need/
check.c|s/count > most)/0)/
audit.c|s/r->rate\[j\] >= NEARLY \*/1 || r->rate[j] >= NEARLY */
audit.c|s/if (jobs > 0 && !r->plan->awake\[n\])/if (0)/
oddsets.c|s/g->held\[r\] <= (g->size\[r\] - 1) \/ 2 + VIOLATED/1/
CHANGES
)

survivors=0
tried=0
IFS='
'
for change in $changes; do
    unset IFS
    file=${change%%|*}
    expression=${change#*|}
    case "$change" in *"$only"*) ;; *) continue ;; esac
    tried=$((tried + 1))
    sed "$expression" "src/loop/optimize/$file" >changed.c
    if cmp -s changed.c "src/loop/optimize/$file"; then
        echo "changes nothing: $change"
        survivors=$((survivors + 1))
        continue
    fi
    if ! $compile -c changed.c -o changed.o 2>/dev/null; then
        echo "does not compile: $change"
        survivors=$((survivors + 1))
        continue
    fi
    if tests_pass changed.o; then
        echo "survives: $change"
        survivors=$((survivors + 1))
    fi
done
echo "$tried changes, $survivors survive"
[ "$survivors" -eq 0 ]
