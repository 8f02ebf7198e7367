/* parse.h - text from outside to numbers, strictly
 *
 * The whole text must be the number: no leading blanks, no rest, no NaN or infinity
 * unless the range allows it.  False leaves the output untouched. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

bool parse_double(const char *text, double *value); /* finite */
bool parse_u64(const char *text, uint64_t *value);
bool parse_int(const char *text, int *value);
bool parse_bool(const char *text, bool *value); /* true/false, yes/no, on/off */

/* So many digits, at most 9, and nothing but digits; *text is then behind them, and
 * anywhere among them after false. */
bool parse_digits(const char **text, int digits, int *value);

/* ---- values by a rule -------------------------------------------------------------- */

/* One typed value, for command lines and config files alike: a rule says what a text must
 * be, and the same rule words the refusal. */
enum value_type {
    VALUE_BOOL,    /* bool: true/false, yes/no, on/off */
    VALUE_TEXT,    /* const char *, borrowed; never empty */
    VALUE_INT,     /* int */
    VALUE_U64,     /* uint64_t */
    VALUE_DOUBLE,  /* double, finite */
    VALUE_SECONDS, /* double: 90, 50ms, 90s, 10m, 2h, 5d */
    VALUE_WATTS,   /* double: 250, 250W, 20kW */
    VALUE_CHOICE,  /* int: index into choices */
    VALUE_TYPE_COUNT
};

struct value_rule {
    enum value_type type;
    double min, max; /* both 0: any number; times from 0 to 300 years, powers to 1 GW */
    const char *const *choices; /* ends with NULL */
};

/* False when the text is not such a value; the target then stays as it was. */
bool value_parse(const struct value_rule *rule, const char *text, void *target);

/* What the rule asks for: "a whole number from 1 to 10". */
void value_describe(const struct value_rule *rule, struct str *out);
