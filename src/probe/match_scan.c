/* match_scan.c - numbers, words and progress bars within a line
 *
 * match.c asks for them one after the other to make the hits of a line. */
#include "probe/match_private.h"

#include "base/hash.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool digit(const char *p, const char *end)
{
    return p < end && isdigit((unsigned char)*p);
}

/* 1,234,567: groups of exactly three. */
static const char *skip_groups(const char *p, const char *end)
{
    while (end - p >= 4 && *p == ',' && digit(p + 1, end) && digit(p + 2, end) &&
           digit(p + 3, end) && !digit(p + 4, end))
        p += 4;
    return p;
}

static const char *skip_exponent(const char *p, const char *end)
{
    const char *q = p;

    if (q < end && (*q == 'e' || *q == 'E')) {
        q++;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        if (digit(q, end)) {
            while (digit(q, end))
                q++;
            return q;
        }
    }
    return p;
}

static double value_of(const char *begin, const char *end)
{
    char text[40];
    size_t length = 0;

    for (const char *p = begin; p < end && length + 1 < sizeof(text); p++)
        if (*p != ',')
            text[length++] = *p;
    text[length] = '\0';
    return strtod(text, NULL);
}

/* Digits that belong to something else: "v100", "10.2.1", "2024-01-02", "12:30:01". */
static bool is_part(const struct scan *scan, const char *begin, const char *end)
{
    char before = begin > scan->line ? begin[-1] : ' ';
    char after = end < scan->end ? *end : ' ';

    if (isalpha((unsigned char)before) || before == '_' || before == '.')
        return true;
    if (after == '_' || (after == '.' && digit(end + 1, scan->end)))
        return true;
    if ((after == '-' || after == ':') && digit(end + 1, scan->end))
        return true;
    return (before == ':' || before == '-') && begin - scan->line >= 2 &&
           isdigit((unsigned char)begin[-2]);
}

bool scan_number(const struct scan *scan, const char *p, struct scan_number *number,
                 const char **next)
{
    const char *begin = p;
    int digits = 0;

    *next = p + 1;
    if (!digit(p, scan->end))
        return false;
    for (; digit(p, scan->end); p++)
        digits++;
    if (digits <= 3)
        p = skip_groups(p, scan->end);
    if (p < scan->end && *p == '.' && digit(p + 1, scan->end))
        for (p++; digit(p, scan->end);)
            p++;
    p = skip_exponent(p, scan->end);
    *next = p;
    if (digits > 18 || is_part(scan, begin, p))
        return false;
    *number = (struct scan_number){.value = value_of(begin, p), .begin = begin, .end = p};
    return true;
}

static bool is_separator(char c)
{
    return c && strchr(" =:\"'[(#\t", c);
}

static bool is_key_byte(const char *p)
{
    return isalpha((unsigned char)*p) || strchr("_/-()", *p);
}

size_t scan_key(const struct scan *scan, const char *p, const char **key)
{
    const char *stop, *begin;
    bool bar = false;

    while (p > scan->line && (is_separator(p[-1]) || (p[-1] == '|' && !bar))) {
        bar |= p[-1] == '|';
        p--;
    }
    stop = begin = p;
    while (begin > scan->line && stop - begin < 48) {
        if (is_key_byte(begin - 1))
            begin--;
        else if (begin[-1] == ' ' && begin - 1 > scan->line && is_key_byte(begin - 2))
            begin--;
        else
            break;
    }
    *key = begin;
    return (size_t)(stop - begin);
}

static bool is_letter(const char *p, const char *line, const char *end)
{
    return p >= line && p < end && isalpha((unsigned char)*p);
}

/* Word by word, and of the list only those with the same first letter: this is done for
 * every line that counts something. */
static bool has_any(const char *text, const char *end, const char *const *words,
                    size_t count)
{
    const char *p = text;

    while (p < end) {
        const char *begin;

        while (p < end && !isalpha((unsigned char)*p))
            p++;
        begin = p;
        p = units_skip_letters(p, end);
        for (size_t i = 0; begin < p && i < count; i++)
            if ((*begin | 0x20) == words[i][0] &&
                strlen(words[i]) == (size_t)(p - begin) &&
                !strncasecmp(begin, words[i], (size_t)(p - begin)))
                return true;
    }
    return false;
}

bool scan_has_word(const char *text, const char *end, const char *word)
{
    return has_any(text, end, &word, 1);
}

/* A clock time m:ss or h:mm:ss at p; NULL when there is none, else behind it. */
static const char *clock_end(const char *p, const char *end)
{
    const char *begin = p;
    int parts = 0;

    while (digit(p, end)) {
        while (digit(p, end))
            p++;
        parts++;
        if (p == end || *p != ':' || !digit(p + 1, end))
            break;
        p++;
    }
    return parts >= 2 && p - begin <= 12 ? p : NULL;
}

bool scan_evaluates(const char *text, const char *end)
{
    static const char *const evaluation[] = {
        "eval",    "evaluation", "evaluating", "evaluate",   "val",
        "valid",   "validate",   "validating", "validation", "test",
        "testing", "sanity",     "predict",    "predicting", "prediction",
    };

    return has_any(text, end, evaluation, COUNT(evaluation));
}

/* The kind of work that a bar's label tells: "validation", "loading". */
static enum match_role role_of(const char *text, const char *end)
{
    static const char *const preparation[] = {
        "map",         "filter",     "download",   "downloading",   "tokenizing",
        "tokenize",    "tokenising", "loading",    "load",          "fetching",
        "resolving",   "saving",     "split",      "shards",        "extracting",
        "unpacking",   "copying",    "preprocess", "preprocessing", "caching",
        "uploading",   "upload",     "reading",    "scanning",      "cache",
        "installing",  "compiling",  "building",   "checkpoint",    "capturing",
        "calibrating", "warmup",     "indexing",
    };

    if (has_any(text, end, preparation, COUNT(preparation)))
        return MATCH_PREPARATION;
    return scan_evaluates(text, end) ? MATCH_EVALUATION : MATCH_MAIN;
}

uint64_t scan_label(const char *text, const char *end)
{
    char letters[128];
    size_t count = 0;

    for (; text < end && count < sizeof(letters); text++)
        if (isalpha((unsigned char)*text))
            letters[count++] = (char)(*text | 0x20);
    return count > 0 ? hash_bytes(letters, count) : 0;
}

static int rank_after(const char *p, const char *end)
{
    int rank = 0, digits = 0;

    while (p < end && (*p == ' ' || *p == '=' || *p == ':' || *p == '-' || *p == '_'))
        p++;
    for (; digit(p, end) && digits < 6; p++, digits++)
        rank = rank * 10 + (*p - '0');
    return digits > 0 && digits < 6 ? rank : -1;
}

int scan_rank(const struct scan *scan)
{
    static const char *const words[] = {"[default", "rank", "worker", "[gpu"};
    const char *stop = scan->end - scan->line > 96 ? scan->line + 96 : scan->end;

    for (const char *p = scan->line; p < stop; p++) {
        for (size_t i = 0; i < COUNT(words); i++) {
            size_t length = strlen(words[i]);
            int rank;

            if ((*p | 0x20) != (words[i][0] | 0x20) || p + length >= stop ||
                strncasecmp(p, words[i], length) || is_letter(p - 1, scan->line, stop))
                continue;
            rank = rank_after(p + length, stop);
            if (rank >= 0)
                return rank;
        }
    }
    return -1;
}

bool scan_is_training(const struct scan *scan)
{
    static const char *const words[] = {
        "loss",    "lr",         "eta",     "acc",    "accuracy", "epoch",
        "ppl",     "perplexity", "grad",    "reward", "mfu",      "train",
        "learn",   "rmse",       "logloss", "auc",    "learning", "training",
        "samples", "error",      "iou",     "elbo",   "mae",      "mse",
    };

    return has_any(scan->line, scan->end, words, COUNT(words));
}

/* The "[elapsed<left, " of a bar; returns what is behind the comma, NULL when p is not at
 * one. */
static const char *skip_times(const char *p, const char *end)
{
    if (p == end || *p != '[')
        return NULL;
    p = clock_end(p + 1, end);
    if (!p)
        return NULL;
    if (p < end && *p == '<') {
        const char *left = clock_end(++p, end);

        if (left)
            p = left;
        else
            while (p < end && *p != ',' && *p != ']')
                p++;
    }
    if (p == end || *p != ',')
        return NULL;
    return units_skip_blanks(p + 1, end);
}

/* The number that ends at p, with a multiplier; *begin is where it starts.  NaN: none. */
static double number_before(const char *line, const char *p, const char **begin)
{
    double factor = 1;
    const char *stop;

    if (p > line && units_multiplier(p[-1]) > 0)
        factor = units_multiplier(*--p);
    stop = p;
    while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.') && stop - p < 18)
        p--;
    *begin = p;
    return p == stop ? NAN : factor * value_of(p, stop);
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
        hit->unit = units_find(p + 1, (size_t)(units_skip_letters(p + 1, end) - (p + 1)));
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
    hit->role = role_of(scan->line, label);
    hit->label = scan_label(scan->line, label);
    hit->trust = MATCH_SURE;
    return MATCH_BAR;
}

/* A bar's first character: "[" and one of "=>.", or a heavy line. */
static bool is_drawn(const char *p, const char *end)
{
    p = units_skip_blanks(p, end);
    if (end - p >= 3 && (!memcmp(p, "\xe2\x94\x81", 3) || !memcmp(p, "\xe2\x94\x80", 3)))
        return true;
    return end - p >= 2 && *p == '[' && strchr("=>.", p[1]);
}

enum match_bar match_bar_keras(const struct scan *scan, struct match_hit *hit)
{
    const char *p = units_skip_blanks(scan->line, scan->end), *next;
    struct scan_number count, total;

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
