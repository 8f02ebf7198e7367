/* standalone.c - runs a fuzz target without libFuzzer
 *
 *     fuzz_json [-n MUTATIONS] FILE...
 *
 * Each file as it is, then with that many random changes, the same ones every time.  A
 * finding is a crash: build with the sanitizers to see more of them. */
#include "fuzz/fuzz.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)

/* Bytes that mean something to the parsers. */
static const char pool[] = "{}[]\",:\\\n\r0123456789-+.eE()'ntf\xff\x80 ";

static size_t mutate(char *text, size_t length, struct rng *rng)
{
    for (size_t changes = 1 + rng_below(rng, 6); changes > 0 && length > 0; changes--) {
        size_t at = rng_below(rng, length), to = rng_below(rng, length);
        size_t count = rng_below(rng, 16);

        switch (rng_below(rng, 5)) {
        case 0: /* another byte */
            text[at] = (char)rng_u64(rng);
            break;
        case 1:
            text[at] = pool[rng_below(rng, sizeof(pool) - 1)];
            break;
        case 2: /* a piece elsewhere */
            count = count < length - at ? count : length - at;
            count = count < length - to ? count : length - to;
            memmove(text + to, text + at, count);
            break;
        case 3: /* a piece left out */
            count = count < length - at ? count : length - at;
            memmove(text + at, text + at + count, length - at - count);
            length -= count;
            break;
        default: /* cut short, not too often */
            if (rng_below(rng, 4) == 0)
                length = at;
        }
    }
    return length;
}

/* In memory of exactly its size, so that reading past the end is seen. */
static void run(const char *text, size_t length)
{
    uint8_t *data = mem_dup(text, length, 1);

    LLVMFuzzerTestOneInput(data, length);
    free(data);
}

static int run_file(const char *path, int mutations, struct rng *rng)
{
    struct err err = {0};
    char *text, *changed;
    size_t length;

    if (file_read(path, MAX_BYTES, &text, &length, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    run(text, length);
    for (int i = 0; i < mutations; i++) {
        changed = mem_dup(text, length, 1);
        run(changed, mutate(changed, length, rng));
        free(changed);
    }
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    int first = 1, mutations = 0;
    struct rng rng;

    rng_init(&rng, 1);
    if (argc > 2 && !strcmp(argv[1], "-n")) {
        mutations = atoi(argv[2]);
        first = 3;
    }
    for (int i = first; i < argc; i++)
        if (run_file(argv[i], mutations, &rng) < 0)
            return 1;
    return 0;
}
