/* units.c - words of units and rates, see units.h
 *
 * match.c and match_scan.c ask what the words around a number mean. */
#include "probe/units.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const struct work_unit unit_list[] = {
    {"iteration", UNIT_ITERATION, true}, {"step", UNIT_ITERATION, true},
    {"batch", UNIT_ITERATION, true},     {"update", UNIT_ITERATION, true},
    {"timestep", UNIT_ITERATION, true},  {"sample", UNIT_ITEM, false},
    {"token", UNIT_ITEM, false},         {"image", UNIT_ITEM, false},
    {"example", UNIT_ITEM, false},       {"request", UNIT_ITEM, false},
    {"frame", UNIT_ITEM, false},         {"sequence", UNIT_ITEM, false},
    {"sentence", UNIT_ITEM, false},      {"word", UNIT_ITEM, false},
    {"query", UNIT_ITEM, false},         {"inference", UNIT_ITEM, false},
    {"episode", UNIT_ITEM, false},       {"game", UNIT_ITEM, false},
    {"graph", UNIT_ITEM, false},         {"prompt", UNIT_ITEM, false},
    {"event", UNIT_ITEM, false},         {"item", UNIT_ITEM, false},
    {"epoch", UNIT_EPOCH, true},
};

/* Other ways to write them; a plural "s" is taken off before looking. */
static const struct {
    const char *word, *unit;
} aliases[] = {
    {"it", "iteration"},     {"iter", "iteration"}, {"itr", "iteration"},
    {"batche", "batch"},     {"ba", "batch"},       {"minibatch", "batch"},
    {"minibatche", "batch"}, {"upd", "update"},     {"tok", "token"},
    {"img", "image"},        {"ex", "example"},     {"req", "request"},
    {"seq", "sequence"},     {"sent", "sentence"},  {"querie", "query"},
    {"infer", "inference"},  {"sampl", "sample"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Called for most words of most lines: the first letter settles nearly all of them. */
static bool same_word(const char *known, const char *word, size_t length)
{
    return (char)(word[0] | 0x20) == (char)(known[0] | 0x20) && strlen(known) == length &&
           !strncasecmp(known, word, length);
}

static const struct work_unit *by_name(const char *word, size_t length)
{
    for (size_t i = 0; i < COUNT(unit_list); i++)
        if (same_word(unit_list[i].name, word, length))
            return &unit_list[i];
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (same_word(aliases[i].word, word, length))
            return by_name(aliases[i].unit, strlen(aliases[i].unit));
    return NULL;
}

const struct work_unit *units_find(const char *word, size_t length)
{
    const struct work_unit *unit;

    if (length == 0 || length > 16)
        return NULL;
    unit = by_name(word, length);
    if (!unit && length > 2 && (word[length - 1] | 0x20) == 's')
        unit = by_name(word, length - 1);
    return unit;
}

const struct work_unit *units_item(void)
{
    return by_name("item", 4);
}

double units_time(const char *word, size_t length)
{
    static const struct {
        const char *word;
        double seconds;
    } times[] = {
        {"s", 1},
        {"sec", 1},
        {"second", 1},
        {"ms", 1e-3},
        {"msec", 1e-3},
        {"millisecond", 1e-3},
        {"us", 1e-6},
        {"usec", 1e-6},
        {"\xc2\xb5s", 1e-6},
        {"\xce\xbcs", 1e-6},
        {"ns", 1e-9},
        {"min", 60},
        {"minute", 60},
        {"h", 3600},
        {"hour", 3600},
    };
    bool plural = length > 3 && (word[length - 1] | 0x20) == 's';

    for (size_t i = 0; length > 0 && i < COUNT(times); i++)
        if (same_word(times[i].word, word, length) ||
            (plural && same_word(times[i].word, word, length - 1)))
            return times[i].seconds;
    return 0;
}

double units_apply(const struct unit_rate *rate, double number)
{
    double result = rate->inverse ? rate->factor / number : rate->factor * number;

    return isfinite(result) && result > 0 && result < 1e15 ? result : NAN;
}

static bool is_word_byte(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

static size_t word_length(const char *text, const char *end)
{
    const char *p = text;

    while (p < end && is_word_byte(*p))
        p++;
    return (size_t)(p - text);
}

const char *units_skip_letters(const char *p, const char *end)
{
    while (p < end && isalpha((unsigned char)*p))
        p++;
    return p;
}

const char *units_skip_blanks(const char *p, const char *end)
{
    while (p < end && *p == ' ')
        p++;
    return p;
}

double units_multiplier(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    default:
        return 0;
    }
}

/* Single words that are a rate by themselves. */
static const struct work_unit *rate_word(const char *word, size_t length)
{
    static const struct {
        const char *word, *unit;
    } words[] = {{"fps", "frame"},   {"tps", "token"},  {"qps", "query"},
                 {"rps", "request"}, {"ups", "update"}, {"wps", "word"},
                 {"sps", "step"}};

    for (size_t i = 0; i < COUNT(words); i++)
        if (length == 3 && !strncasecmp(words[i].word, word, 3))
            return by_name(words[i].unit, strlen(words[i].unit));
    return NULL;
}

/* Bytes, bits and operations, with any prefix: never work. */
static bool is_data_word(const char *word, size_t length)
{
    static const char *const tails[] = {"b",    "ib",    "bit", "bits", "byte",   "bytes",
                                        "flop", "flops", "op",  "ops",  "iop",    "iops",
                                        "file", "files", "pkt", "pkts", "packets"};

    for (size_t i = 0; i < COUNT(tails); i++) {
        size_t tail = strlen(tails[i]);

        if (length >= tail && length <= tail + 2 &&
            !strncasecmp(word + length - tail, tails[i], tail))
            return true;
    }
    return false;
}

static const struct work_unit *unit_of(const char *word, size_t length, bool any_unit,
                                       double *factor)
{
    const struct work_unit *unit = units_find(word, length);

    *factor = 1;
    if (!unit && length > 1 && units_multiplier(word[0]) > 0) {
        unit = units_find(word + 1, length - 1);
        if (unit)
            *factor = units_multiplier(word[0]);
    }
    if (!unit && any_unit && length > 1 && !is_data_word(word, length))
        unit = units_item();
    return unit;
}

/* "/", " / " or " per " between two words; NULL when there is none. */
static const char *skip_per(const char *p, const char *end)
{
    p = units_skip_blanks(p, end);
    if (p < end && *p == '/')
        return units_skip_blanks(p + 1, end);
    if (end - p > 4 && !strncasecmp(p, "per ", 4))
        return units_skip_blanks(p + 4, end);
    return NULL;
}

/* "1.2k tokens/s", "1.2 ktok/s": a multiplier of its own goes before the words. */
static const char *skip_multiplier(const char *p, const char *end, double *factor)
{
    *factor = 1;
    if (end - p >= 2 && units_multiplier(*p) > 0 && p[1] == ' ') {
        *factor = units_multiplier(*p);
        p++;
    }
    return units_skip_blanks(p, end);
}

size_t units_suffix(const char *text, size_t length, bool any_unit,
                    struct unit_rate *rate)
{
    const char *end = text + length, *first, *second;
    double scale, factor, seconds;
    size_t first_length, second_length;

    first = skip_multiplier(text, end, &scale);
    if (first - text > 3)
        return 0;
    first_length = word_length(first, end);
    if (first_length == 0 || first_length > 16)
        return 0;
    second = skip_per(first + first_length, end);
    if (!second) {
        rate->unit = rate_word(first, first_length);
        rate->factor = scale;
        rate->inverse = false;
        return rate->unit ? (size_t)(first + first_length - text) : 0;
    }
    second_length = word_length(second, end);
    if (second + second_length < end &&
        (isdigit((unsigned char)second[second_length]) || second[second_length] == '_'))
        return 0;
    seconds = units_time(second, second_length);
    rate->inverse = seconds <= 0;
    if (rate->inverse) {
        rate->unit = unit_of(second, second_length, any_unit, &factor);
        rate->factor = 1;
        seconds = units_time(first, first_length);
        if (seconds <= 0 || !rate->unit)
            return 0;
        rate->factor = 1 / seconds;
    } else {
        rate->unit = unit_of(first, first_length, any_unit, &factor);
        rate->factor = scale * factor / seconds;
    }
    return rate->unit ? (size_t)(second + second_length - text) : 0;
}

#define MAX_WORDS 8

struct words {
    const char *at[MAX_WORDS]; /* the last ones, newest first */
    size_t length[MAX_WORDS];
    int count;
};

static bool word_is(const struct words *words, int index, const char *text)
{
    return index < words->count && words->length[index] == strlen(text) &&
           !strncasecmp(words->at[index], text, words->length[index]);
}

static void add_word(struct words *words, const char *at, size_t length)
{
    if (words->count < MAX_WORDS) {
        words->at[words->count] = at;
        words->length[words->count++] = length;
    }
}

/* From the end backwards: letters make words, a capital after a small letter begins a new
 * one, a slash reads "per". */
static void split_backwards(const char *text, size_t length, struct words *words)
{
    const char *p = text + length;

    while (p > text && words->count < MAX_WORDS) {
        const char *stop = p;

        if (p[-1] == '/')
            add_word(words, "per", 3);
        if (!is_word_byte(p[-1])) {
            p--;
            continue;
        }
        while (p > text && is_word_byte(p[-1])) {
            p--;
            if (isupper((unsigned char)*p) && p > text && islower((unsigned char)p[-1]))
                break;
        }
        add_word(words, p, (size_t)(stop - p));
    }
}

static bool is_average(const struct words *words, int index)
{
    return word_is(words, index, "avg") || word_is(words, index, "mean") ||
           word_is(words, index, "average");
}

static const struct work_unit *word_unit(const struct words *words, int index)
{
    return index < words->count ? units_find(words->at[index], words->length[index])
                                : NULL;
}

static double word_time(const struct words *words, int index)
{
    return index < words->count ? units_time(words->at[index], words->length[index]) : 0;
}

/* "step time", "step_time_ms", "time per iteration (ms)"; i is behind a unit of time. */
static bool period_key(const struct words *words, int i, double seconds,
                       struct unit_rate *rate)
{
    rate->inverse = true;
    rate->factor = 1 / seconds;
    if (word_is(words, i, "time")) { /* UNIT time */
        rate->unit = word_unit(words, i + 1);
        return rate->unit != NULL;
    }
    rate->unit = word_unit(words, i); /* time per UNIT */
    return rate->unit && word_is(words, i + 1, "per") &&
           (word_is(words, i + 2, "time") || word_is(words, i + 2, "latency"));
}

bool units_key(const char *text, size_t length, struct unit_rate *rate)
{
    struct words words = {0};
    double seconds;
    int i = 0;

    split_backwards(text, length, &words);
    if (is_average(&words, 0))
        i++;
    if (i >= words.count)
        return false;
    rate->inverse = false;
    rate->factor = 1;
    rate->unit = rate_word(words.at[i], words.length[i]);
    if (rate->unit)
        return true;
    seconds = word_time(&words, i);
    if (seconds > 0 && word_is(&words, i + 1, "per")) { /* UNIT per second */
        rate->unit = word_unit(&words, i + 2);
        rate->factor = 1 / seconds;
        return rate->unit != NULL;
    }
    if (word_unit(&words, i) && word_is(&words, i + 1, "per") &&
        word_time(&words, i + 2) > 0) { /* ms per UNIT */
        rate->unit = word_unit(&words, i);
        rate->inverse = true;
        rate->factor = 1 / word_time(&words, i + 2);
        return true;
    }
    return seconds > 0 ? period_key(&words, i + 1, seconds, rate)
                       : period_key(&words, i, 1, rate);
}
