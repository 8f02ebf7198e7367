#!/bin/sh
# nn_backward.sh - does a test fail when a gradient has the wrong sign?
#
# Works on a copy: every line of every *_backward() function in src/nn that adds, subtracts
# or calls a function that adds gets one sign flipped at a time, and the gradient tests must
# fail.  Prints the survivors; status 0 when there are none.  Takes about a minute.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$root/src" "$work/src"
cd "$work"

libs="$(pkg-config --libs openblas cmocka) -lm -lpthread"
compile="${CC:-cc} -std=gnu17 -O0 -DNN_DOUBLE -D_GNU_SOURCE -Isrc -I$root/tests
    -include flipped.h $(pkg-config --cflags openblas cmocka)"

# Those functions with the other sign, for the calls the mutants make.
cat > flipped.h <<'H'
#define flipped_gemm(form, m, n, k, alpha, ...) gemm(form, m, n, k, -(alpha), __VA_ARGS__)
#define flipped_add_to(to, from, count)                                                  \
    do {                                                                                 \
        nn_real *to_ = (to);                                                             \
        const nn_real *from_ = (from);                                                   \
        for (size_t n_ = 0; n_ < (count); n_++)                                          \
            to_[n_] -= from_[n_];                                                        \
    } while (0)
#define flipped_add_column_sums(sums, from, rows, cols)                                  \
    do {                                                                                 \
        for (int n_ = 0; n_ < (rows) * (cols); n_++)                                     \
            (sums)[n_ % (cols)] -= (from)[n_];                                           \
    } while (0)
H

objects=
for source in src/nn/*.c src/base/err.c src/base/mem.c src/base/rng.c src/base/str.c; do
    object=$(basename "$source" .c).o
    $compile -c "$source" -o "$object"
    objects="$objects $object"
done
for test in test_nn_ops_double test_nn_blocks_double; do
    $compile -c "$root/tests/unit/$test.c" -o "$test.o"
done

tests_pass() {
    for test in test_nn_ops_double test_nn_blocks_double; do
        # shellcheck disable=SC2086
        ${CC:-cc} "$test.o" $objects $libs -o "$test"
        OPENBLAS_NUM_THREADS=1 timeout 60 "./$test" >/dev/null 2>&1 || return 1
    done
}

tests_pass || { echo "the tests fail before anything was changed" >&2; exit 2; }

# file:line:expression, the expression being sed's for that line.
awk '
    /_backward\(const struct var \*out[^;]*$/ { inside = 1 }
    /^}/ { inside = 0 }
    !inside { next }
    /\+=/ { print FILENAME ":" FNR ":s/+=/-=/" }
    /-=/ { print FILENAME ":" FNR ":s/-=/+=/" }
    / - / { print FILENAME ":" FNR ":s/ - / + /" }
    / - .* - / { print FILENAME ":" FNR ":s/ - / + /2" }
    /(^| )(gemm|add_to|add_column_sums)\(/ {
        print FILENAME ":" FNR ":s/\\(gemm\\|add_to\\|add_column_sums\\)(/flipped_\\1(/"
    }
' src/nn/*.c > mutants

survivors=0
total=0
while IFS=: read -r file line change; do
    object=$(basename "$file" .c).o
    cp "$file" kept.c
    cp "$object" kept.o
    sed -i "${line}${change}" "$file"
    total=$((total + 1))
    if cmp -s "$file" kept.c || ! $compile -c "$file" -o "$object"; then
        echo "cannot change $file:$line $change" >&2
        exit 2
    fi
    if tests_pass; then
        echo "survived: $file:$line $change"
        sed -n "${line}p" "$file"
        survivors=$((survivors + 1))
    fi
    cp kept.c "$file"
    cp kept.o "$object"
done < mutants
echo "$total changes, $survivors survived"
[ "$total" -gt 0 ] && [ "$survivors" -eq 0 ]
