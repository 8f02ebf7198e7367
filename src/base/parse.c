/* parse.c - numbers from text, all of it or nothing */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
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

bool parse_double(const char *text, double *value)
{
    const char *rest;
    double parsed;

    if (!leading_number(text, &parsed, &rest) || *rest)
        return false;
    *value = parsed;
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

bool parse_seconds(const char *text, double *seconds)
{
    static const struct parse_unit units[] = {
        {"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};

    return with_unit(text, units, seconds);
}

bool parse_watts(const char *text, double *watts)
{
    static const struct parse_unit units[] = {
        {"", 1}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};

    return with_unit(text, units, watts);
}
