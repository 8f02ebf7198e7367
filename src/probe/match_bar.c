/* match_bar.c - see match_bar.h */
#include "probe/match_bar.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The "[elapsed<left, " of a bar; returns what is behind the comma, NULL when p is not at
 * one. */
static const char *skip_times(const char *p, const char *end)
{
    if (p == end || *p != '[')
        return NULL;
    p = scan_clock(p + 1, end);
    if (!p)
        return NULL;
    if (p < end && *p == '<') {
        const char *left = scan_clock(++p, end);

        if (left)
            p = left;
        else
            while (p < end && *p != ',' && *p != ']')
                p++;
    }
    if (p == end || *p != ',')
        return NULL;
    for (p++; p < end && *p == ' ';)
        p++;
    return p;
}

static double si_factor(char c)
{
    return c == 'k' || c == 'K' ? 1e3 : c == 'M' ? 1e6 : c == 'G' ? 1e9 : 0;
}

/* The number that ends at p, with a multiplier; *begin is where it starts.  NaN: none. */
static double number_before(const char *line, const char *p, const char **begin)
{
    double factor = 1, value = 0, scale = 1;
    const char *stop;

    if (p > line && si_factor(p[-1]) > 0)
        factor = si_factor(*--p);
    stop = p;
    while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.') && stop - p < 18)
        p--;
    if (p == stop)
        return NAN;
    *begin = p;
    for (bool fraction = false; p < stop; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        value = value * 10 + (*p - '0');
        scale *= fraction ? 10 : 1;
    }
    return factor * value / scale;
}

/* "450/1000 " or "450it " before the bracket. */
static const char *count_before(const char *line, const char *p, struct match_hit *hit)
{
    const char *begin;
    double last;

    while (p > line && p[-1] == ' ')
        p--;
    last = number_before(line, p, &begin);
    if (isnan(last)) { /* without a total the unit stands behind the count */
        while (p > line && isalpha((unsigned char)p[-1]))
            p--;
        hit->count = number_before(line, p, &begin);
        return isnan(hit->count) ? NULL : begin;
    }
    if (begin > line && begin[-1] == '/') {
        hit->count = number_before(line, begin - 1, &begin);
        hit->total = last;
        return isnan(hit->count) ? NULL : begin;
    }
    return NULL;
}

/* The words before "45%|"; a bar without a total has its words before the count. */
static const char *label_end(const char *line, const char *count)
{
    const char *p = count;

    while (p > line && p[-1] != '%')
        p--;
    if (p == line)
        return count;
    for (p--; p > line && isdigit((unsigned char)p[-1]);)
        p--;
    return p;
}

static void read_rate(const char *p, const char *end, struct match_hit *hit)
{
    const struct scan scan = {.line = p, .end = end};
    struct unit_rate rate;
    struct scan_number number;
    const char *next;

    if (scan_number(&scan, p, &number, &next) &&
        units_suffix(number.end, (size_t)(end - number.end), true, &rate) > 0) {
        hit->unit = rate.unit;
        hit->rate = units_apply(&rate, number.value);
    } else if (p < end && *p == '?') { /* not known yet: "?it/s" */
        size_t length = 0;

        while (p + 1 + length < end && isalpha((unsigned char)p[1 + length]))
            length++;
        hit->unit = units_find(p + 1, length);
    }
}

enum match_bar match_bar_tqdm(const struct scan *scan, struct match_hit *hit)
{
    const char *bracket = scan->line, *rate, *count, *label;

    for (;; bracket++) {
        bracket = memchr(bracket, '[', (size_t)(scan->end - bracket));
        if (!bracket)
            return MATCH_NO_BAR;
        rate = skip_times(bracket, scan->end);
        if (rate)
            break;
    }
    count = count_before(scan->line, bracket, hit);
    if (!count)
        return MATCH_NO_BAR;
    read_rate(rate, scan->end, hit);
    if (!hit->unit)
        return MATCH_OTHER_BAR;
    label = label_end(scan->line, count);
    hit->role = scan_role(scan->line, label);
    hit->label = scan_label(scan->line, label);
    hit->trust = MATCH_SURE;
    return MATCH_BAR;
}

/* A bar's first character: "[" and one of "=>.", or a heavy line. */
static bool is_drawn(const char *p, const char *end)
{
    while (p < end && *p == ' ')
        p++;
    if (end - p >= 3 && (!memcmp(p, "\xe2\x94\x81", 3) || !memcmp(p, "\xe2\x94\x80", 3)))
        return true;
    return end - p >= 2 && *p == '[' && strchr("=>.", p[1]);
}

enum match_bar match_bar_keras(const struct scan *scan, struct match_hit *hit)
{
    const char *p = scan->line, *next;
    struct scan_number count, total;

    while (p < scan->end && *p == ' ')
        p++;
    if (!scan_number(scan, p, &count, &next) || next == scan->end || *next != '/')
        return MATCH_NO_BAR;
    if (!scan_number(scan, next + 1, &total, &next) || !is_drawn(next, scan->end))
        return MATCH_NO_BAR;
    hit->unit = units_find("step", 4);
    hit->count = count.value;
    hit->total = total.value;
    hit->trust = MATCH_SURE;
    return MATCH_BAR;
}
