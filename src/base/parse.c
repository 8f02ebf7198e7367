/* parse.c - numbers and other values from text, all of it or nothing; options.c and
 * config.c read their values by rules */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* strtod takes blanks, hex and "nan"; we take what a person would call a number. */
static bool leading_number(const char *text, double *value, const char **rest)
{
    const char *first = text + (*text == '-' || *text == '+');
    char *end;
    double parsed;

    if (!isdigit((unsigned char)*first) && *first != '.')
        return false;
    if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
        return false;
    errno = 0;
    parsed = strtod(text, &end);
    if (end == text || !isfinite(parsed))
        return false;
    *value = parsed;
    *rest = end;
    return true;
}

bool parse_u64(const char *text, uint64_t *value)
{
    char *end;
    unsigned long long parsed;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    parsed = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *value = parsed;
    return true;
}

bool parse_int(const char *text, int *value)
{
    char *end;
    long parsed;

    if (!isdigit((unsigned char)*text) && *text != '-')
        return false;
    errno = 0;
    parsed = strtol(text, &end, 10);
    if (errno || *end || end == text || parsed < INT_MIN || parsed > INT_MAX)
        return false;
    *value = (int)parsed;
    return true;
}

bool parse_digits(const char **text, int digits, int *value)
{
    int sum = 0;

    for (int i = 0; i < digits; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        sum = 10 * sum + (**text - '0');
    }
    *value = sum;
    return true;
}

bool parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "yes", "on"};
    static const char *const no[] = {"false", "no", "off"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
            *value = !strcasecmp(text, yes[i]);
            return true;
        }
    }
    return false;
}

struct parse_unit {
    const char *name;
    double factor;
};

static const struct parse_unit plain[] = {{"", 1}, {NULL, 0}};

static bool with_unit(const char *text, const struct parse_unit *units, double *value)
{
    const char *rest;
    double parsed;

    if (!leading_number(text, &parsed, &rest))
        return false;
    for (; units->name; units++) {
        if (!strcmp(rest, units->name)) {
            *value = parsed * units->factor;
            return true;
        }
    }
    return false;
}

bool parse_double(const char *text, double *value)
{
    return with_unit(text, plain, value);
}

/* ---- values by a rule -------------------------------------------------------------- */

#define MAX_SECONDS 1e10
#define MAX_WATTS   1e9

static bool in_range(const struct value_rule *rule, double value)
{
    if (rule->min != 0 || rule->max != 0)
        return value >= rule->min && value <= rule->max;
    if (rule->type == VALUE_SECONDS)
        return value >= 0 && value <= MAX_SECONDS;
    if (rule->type == VALUE_WATTS)
        return value >= 0 && value <= MAX_WATTS;
    return true;
}

static bool parse_choice(const struct value_rule *rule, const char *text, int *target)
{
    for (int i = 0; rule->choices[i]; i++) {
        if (!strcmp(rule->choices[i], text)) {
            *target = i;
            return true;
        }
    }
    return false;
}

static bool parse_real(const struct value_rule *rule, const char *text, double *target)
{
    static const struct parse_unit times[] = {{"", 1},      {"s", 1},  {"ms", 1e-3},
                                              {"min", 60},  {"m", 60}, {"h", 3600},
                                              {"d", 86400}, {NULL, 0}};
    static const struct parse_unit powers[] = {
        {"", 1}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
    const struct parse_unit *units = rule->type == VALUE_SECONDS ? times
                                     : rule->type == VALUE_WATTS ? powers
                                                                 : plain;
    double value;

    if (!with_unit(text, units, &value) || !in_range(rule, value))
        return false;
    *target = value;
    return true;
}

static bool parse_whole(const struct value_rule *rule, const char *text, void *target)
{
    uint64_t large;
    int number;

    if (rule->type == VALUE_U64) {
        if (!parse_u64(text, &large) || !in_range(rule, (double)large))
            return false;
        *(uint64_t *)target = large;
    } else {
        if (!parse_int(text, &number) || !in_range(rule, number))
            return false;
        *(int *)target = number;
    }
    return true;
}

bool value_parse(const struct value_rule *rule, const char *text, void *target)
{
    switch (rule->type) {
    case VALUE_BOOL:
        return parse_bool(text, target);
    case VALUE_TEXT:
        if (*text)
            *(const char **)target = text;
        return *text != '\0';
    case VALUE_INT:
    case VALUE_U64:
        return parse_whole(rule, text, target);
    case VALUE_DOUBLE:
    case VALUE_SECONDS:
    case VALUE_WATTS:
        return parse_real(rule, text, target);
    case VALUE_CHOICE:
        return parse_choice(rule, text, target);
    case VALUE_TYPE_COUNT:
        break;
    }
    return false;
}

void value_describe(const struct value_rule *rule, struct str *out)
{
    static const char *const what[VALUE_TYPE_COUNT] = {
        [VALUE_BOOL] = "true or false",
        [VALUE_TEXT] = "a text that is not empty",
        [VALUE_INT] = "a whole number",
        [VALUE_U64] = "a whole number that is not negative",
        [VALUE_DOUBLE] = "a number",
        [VALUE_SECONDS] = "a time such as 50ms, 90s, 10m or 2h",
        [VALUE_WATTS] = "a power such as 250W or 20kW",
        [VALUE_CHOICE] = "one of ",
    };

    str_add(out, what[rule->type]);
    if (rule->type == VALUE_CHOICE) {
        for (const char *const *choice = rule->choices; *choice; choice++)
            str_addf(out, "%s%s", choice == rule->choices ? "" : ", ", *choice);
        return;
    }
    if (rule->min != 0 || rule->max != 0)
        str_addf(out, " from %.15g to %.15g", rule->min, rule->max);
}
