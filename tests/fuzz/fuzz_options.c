/* fuzz_options.c - a command line, a word a line: read by one table of every type */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "base/options.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"red", "blue", NULL};

struct arguments {
    bool flag;
    const char *text;
    int count, colour;
    uint64_t seed;
    double share, time_s, watts;
};

static const struct option_spec options[] = {
    OPT(struct arguments, flag, FLAG, "flag", 'f', NULL, "a flag"),
    OPT(struct arguments, text, STRING, "text", 't', "TEXT", "a text"),
    OPT(struct arguments, count, INT, "count", 'c', "N", "a count", .min = 1, .max = 9),
    OPT(struct arguments, seed, U64, "seed", 0, "N", "a seed"),
    OPT(struct arguments, share, DOUBLE, "share", 's', "X", "a share", .max = 1),
    OPT(struct arguments, time_s, SECONDS, "time", 0, "T", "a time"),
    OPT(struct arguments, watts, WATTS, "watts", 'w', "W", "a power"),
    OPT(struct arguments, colour, CHOICE, "colour", 0, "C", "one", .choices = colours),
    {0},
};

static void read_words(int argc, char **argv, bool leading)
{
    struct arguments args = {.count = 1};
    struct err err = {0};
    bool help = false;
    int first;

    first = options_parse(options, leading, &args, argc, argv, &help, &err);
    if (first < 0 && (err.code != ERR_USAGE || !err.text[0]))
        abort();
    if (first >= 0 && !help && (first > argc || args.count < 1 || args.count > 9))
        abort();
    if (!isfinite(args.share + args.time_s + args.watts) || args.share < 0 ||
        args.share > 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vec_of(char *) argv = {0};
    char *text = mem_array(char, size + 1), *line, *rest = text;

    memcpy(text, data, size);
    for (int leading = 0; leading < 2; leading++) {
        vec_push(&argv, (char *)(uintptr_t) "corgi");
        rest = mem_strdup(text);
        line = rest;
        while (line && argv.count < 200) {
            char *end = strchr(line, '\n');

            if (end)
                *end = '\0';
            vec_push(&argv, line);
            line = end ? end + 1 : NULL;
        }
        vec_push(&argv, NULL);
        read_words((int)argv.count - 1, argv.items, leading);
        argv.count = 0;
        free(rest);
    }
    vec_free(&argv);
    free(text);
    return 0;
}
