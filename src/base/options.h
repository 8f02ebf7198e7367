/* options.h - one table of options a command
 *
 * The table says how an option is typed, where its value goes and what it is for.
 * Parsing, `--help`, shell completion and man pages are all made from it, so they cannot
 * disagree.
 *
 *     struct sim_args {
 *         uint64_t seed;
 *         const char *out;
 *         bool json;
 *     };
 *     static const struct option_spec options[] = {
 *         OPT(struct sim_args, seed, U64, "seed", 0, "N", "seed of all draws",
 *             .default_text = "1"),
 *         OPT(struct sim_args, out, STRING, "out", 'o', "DIR", "write the files there"),
 *         OPT(struct sim_args, json, FLAG, "json", 'j', NULL, "print JSON"),
 *         {0},
 *     };
 *
 * Every command also answers --help and -h. */
#pragma once

#include "base/err.h"
#include "base/parse.h"

#include <stdbool.h>
#include <stddef.h>

enum option_type {
    OPTION_FLAG = VALUE_BOOL,   /* no value on the command line */
    OPTION_STRING = VALUE_TEXT, /* const char *, borrowed from argv or the table */
    OPTION_INT = VALUE_INT,
    OPTION_U64 = VALUE_U64,
    OPTION_DOUBLE = VALUE_DOUBLE,
    OPTION_SECONDS = VALUE_SECONDS,
    OPTION_WATTS = VALUE_WATTS,
    OPTION_CHOICE = VALUE_CHOICE,
};

struct option_spec {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: no short form; 'h' is taken */
    /* Unused for flags.  FILE and DIR complete to paths, another name to what the hidden
     * command complete of the program says to it: `corgi complete JOB`. */
    const char *argument;
    enum option_type type;
    size_t offset;   /* of the value in the struct of the command's arguments */
    double min, max; /* as in struct value_rule */
    const char *const *choices;     /* ends with NULL */
    void (*words)(struct str *out); /* adds values that exist, commas between; or NULL */
    const char *default_text; /* as it would be typed, parsed the same way; NULL: zero */
    const char *help;         /* lower case, no full stop */
};

/* One option of a table: the member of the struct it fills, FLAG, STRING, INT and so on,
 * its name, its letter or 0, what its value is called or NULL, and what it is for; then
 * the other members of struct option_spec, as .min = 1. */
#define OPT(args, member, kind, long_name, short_name, value, text, ...)                 \
    {                                                                                    \
        .name = (long_name), .letter = (short_name), .type = OPTION_##kind,              \
        .argument = (value), .offset = offsetof(args, member), .help = (text),           \
        __VA_ARGS__                                                                      \
    }

/* Set every value to its default.  A default that does not parse is our own mistake. */
void options_defaults(const struct option_spec *specs, void *args);

/* Read argv[1..] into args, which holds the defaults.  Options may stand among the
 * operands until "--"; the operands end up last in argv.  When they lead they end at the
 * first operand: what follows belongs to that one, as in `corgi submit train.sh --epochs
 * 3`.  Returns the index of the first operand, or -1 with ERR_USAGE.  At --help it stops
 * and sets *help. */
int options_parse(const struct option_spec *specs, bool leading, void *args, int argc,
                  char **argv, bool *help, struct err *err);
