/* match.c - one line of a job's output to its hits, see match.h
 *
 * tracks.c hands in every line the job prints; the hits go into its tracks. */
#include "probe/match.h"

#include "probe/match_private.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Of counts in lines that say nothing of training, only long ones are believed: "Step
 * 3/12 : RUN make" is a recipe. */
#define MIN_PLAIN_TOTAL 20
#define MIN_PLAIN_COUNT 50

struct matched_line {
    struct scan scan;
    struct match_hit *hits;
    int count;
    double epoch, epoch_total; /* NaN: not seen */
    const char *epoch_end;     /* behind its number */
    const char *taken;         /* up to here words belong to a number before */
    int training; /* 1: the line speaks of training, 0: not, -1: nobody asked yet */
};

static struct match_hit empty_hit(void)
{
    return (struct match_hit){
        .rank = -1, .rate = NAN, .count = NAN, .total = NAN, .epoch = NAN};
}

struct match_hit match_told(const struct work_unit *unit)
{
    struct match_hit hit = empty_hit();

    hit.unit = unit;
    hit.trust = MATCH_TOLD;
    return hit;
}

static struct match_hit *add_hit(struct matched_line *line, const struct work_unit *unit)
{
    struct match_hit *hit;

    if (line->count == MATCH_MAX_HITS)
        return NULL;
    hit = &line->hits[line->count++];
    *hit = empty_hit();
    hit->unit = unit;
    return hit;
}

static bool is_training(struct matched_line *line)
{
    if (line->training < 0)
        line->training = scan_is_training(&line->scan);
    return line->training;
}

/* Words like "filter" or "load" tell of preparation on a bar; in a line they may be the
 * name of anything.  Behind the number stand values like val_loss. */
static enum match_role line_role(const struct matched_line *line, const char *end)
{
    return scan_evaluates(line->scan.line, end) ? MATCH_EVALUATION : MATCH_MAIN;
}

/* The words around a rate tell one rate of a line from another. */
static void add_rate(struct matched_line *line, const struct unit_rate *found,
                     double number, const char *key, const char *key_end)
{
    double rate = units_apply(found, number);
    struct match_hit *hit = isnan(rate) ? NULL : add_hit(line, found->unit);

    if (!hit)
        return;
    hit->rate = rate;
    hit->label = scan_label(key, key_end);
    hit->role = line_role(line, key_end);
    hit->trust = MATCH_SURE;
}

static bool key_ends_with(const char *key, size_t length, const char *word)
{
    size_t tail = strlen(word);

    return length >= tail && !strncasecmp(key + length - tail, word, tail) &&
           (length == tail || !isalpha((unsigned char)key[length - tail - 1]));
}

/* "save_steps=500" is a setting, "steps: 500" a count; so is what these call theirs. */
static bool is_plural_setting(const char *key, size_t first, size_t length)
{
    if ((key[length - 1] | 0x20) != 's' || first == 0)
        return false;
    return !key_ends_with(key, length, "num_updates") &&
           !key_ends_with(key, length, "total_timesteps") && key[first - 1] != ' ';
}

/* The last word of a key as a unit that is counted; NULL: it is none. */
static const struct work_unit *counter_of(const char *key, size_t length)
{
    size_t first;
    const struct work_unit *unit;

    if (length > 2 && key[length - 1] == ')') /* "Epoch(train)" */
        while (length > 0 && key[--length] != '(')
            ;
    first = length;
    while (first > 0 && isalpha((unsigned char)key[first - 1]))
        first--;
    if (length - first < 2)
        return NULL;
    unit = units_find(key + first, length - first);
    if (!unit || !unit->counter || is_plural_setting(key, first, length))
        return NULL;
    /* "steps_per_epoch" */
    return first >= 4 && key_ends_with(key, first - 1, "per") ? NULL : unit;
}

/* "120/1000", "120 / 1000", "120 of 1000" behind a count. */
static const char *read_total(const struct scan *scan, const char *p, double *total)
{
    struct scan_number number;
    const char *next;

    p = units_skip_blanks(p, scan->end);
    if (p < scan->end && *p == '/')
        p++;
    else if (scan->end - p > 3 && !memcmp(p, "of ", 3))
        p += 3;
    else
        return NULL;
    if (!scan_number(scan, units_skip_blanks(p, scan->end), &number, &next))
        return NULL;
    *total = number.value;
    return number.end;
}

static bool is_whole(double x)
{
    return x == floor(x) && x < 1e15;
}

static void add_count(struct matched_line *line, const struct work_unit *unit,
                      const char *at, double count, double total)
{
    struct match_hit *hit;

    if (!is_whole(count) || (!isnan(total) && (count > total || !is_whole(total))))
        return;
    if (!is_training(line) && !(total >= MIN_PLAIN_TOTAL) && !(count >= MIN_PLAIN_COUNT))
        return;
    hit = add_hit(line, unit);
    if (!hit)
        return;
    hit->count = count;
    hit->total = total;
    hit->epoch = line->epoch;
    hit->trust = is_training(line) ? MATCH_SURE : MATCH_PLAIN;
    hit->role = line_role(line, at);
}

/* After "Epoch: [3]" comes "[  40/5005]", without a word of its own; a percentage in the
 * bracket says that it counts samples. */
static bool bracket_count(struct matched_line *line, const struct scan_number *number)
{
    const char *end, *p = number->begin;
    bool samples;
    double total;

    if (isnan(line->epoch))
        return false;
    end = read_total(&line->scan, number->end, &total);
    while (p > line->epoch_end && strchr(" []:,|", p[-1]))
        p--;
    if (!end || p != line->epoch_end)
        return false;
    samples = line->scan.end - end > 2 && !memcmp(end, " (", 2);
    add_count(line, units_find(samples ? "sample" : "batch", samples ? 6 : 5),
              number->begin, number->value, total);
    return true;
}

/* "time 123ms", "time: 0.512, data_time: 0.05", "Time  0.256 ( 1.234)": the time of one
 * iteration, if the line counts iterations; a plain "time" may be the whole run's. */
static void iteration_time(struct matched_line *line, const struct scan_number *number,
                           const char *key, size_t length)
{
    struct unit_rate rate = {.inverse = true, .factor = 1};
    const char *end = line->scan.end, *p = units_skip_blanks(number->end, end);

    if (!key_ends_with(key, length, "time") && !key_ends_with(key, length, "dt"))
        return;
    if (length > 5 && key_ends_with(key, length, "data_time"))
        return;
    if (units_time(p, (size_t)(units_skip_letters(p, end) - p)) == 1e-3)
        rate.factor = 1e3;
    else if (!scan_has_word(line->scan.line, end, "data") &&
             !(p < end && *p == '(' && !isnan(line->epoch)))
        return;
    for (int i = 0; i < line->count; i++) {
        struct match_hit *hit = &line->hits[i];

        if (hit->unit->class == UNIT_ITERATION && !isnan(hit->count) && isnan(hit->rate))
            hit->rate = units_apply(&rate, number->value);
    }
}

static bool read_counter(struct matched_line *line, const struct scan_number *number,
                         const char *key, size_t length, const char **next)
{
    const struct work_unit *unit = counter_of(key, length);
    double total = NAN;
    const char *end;

    if (!unit)
        return false;
    end = read_total(&line->scan, number->end, &total);
    if (end)
        *next = end;
    if (unit->class == UNIT_EPOCH) {
        if (isnan(line->epoch)) {
            line->epoch = number->value;
            line->epoch_total = total;
            line->epoch_end = end ? end : number->end;
        }
        return true;
    }
    add_count(line, unit, number->begin, number->value, total);
    return true;
}

/* "loss 0.5 samples/sec: 31": the words are the name of what follows, not the unit of
 * what comes before. */
static bool names_the_next(const struct scan *scan, const struct scan_number *number,
                           size_t suffix)
{
    const char *p = units_skip_blanks(number->end + suffix, scan->end);

    if (*number->end != ' ')
        return false;
    return p < scan->end && (*p == ':' || *p == '=');
}

/* In "4.9it/s 10.2s" the "it/s" is not the name of 10.2. */
static size_t key_of(const struct matched_line *line, const struct scan_number *number,
                     const char **key)
{
    size_t length = scan_key(&line->scan, number->begin, key);

    if (*key >= line->taken)
        return length;
    if (*key + length <= line->taken)
        return 0;
    length -= (size_t)(line->taken - *key);
    *key = line->taken;
    return length;
}

static void read_number(struct matched_line *line, const struct scan_number *number,
                        const char **next)
{
    const char *key;
    size_t length, suffix;
    struct unit_rate rate;

    suffix =
        units_suffix(number->end, (size_t)(line->scan.end - number->end), false, &rate);
    length = key_of(line, number, &key);
    if (suffix > 0 && !names_the_next(&line->scan, number, suffix)) {
        add_rate(line, &rate, number->value, key, key + length);
        *next = line->taken = number->end + suffix;
        return;
    }
    if (length > 0 && units_key(key, length, &rate)) {
        add_rate(line, &rate, number->value, key, key + length);
        return;
    }
    if (length > 0 && read_counter(line, number, key, length, next))
        return;
    if (bracket_count(line, number))
        return;
    if (length > 0)
        iteration_time(line, number, key, length);
}

/* "[120]\ttrain-rmse:0.1" and "120:\tlearn: 0.5": boosting. */
static bool boosting_round(struct matched_line *line)
{
    const char *p = line->scan.line, *next;
    bool bracket = *p == '[';
    struct scan_number number;

    if (!scan_number(&line->scan, p + bracket, &number, &next) ||
        line->scan.end - next < 3 || memcmp(next, bracket ? "]\t" : ":\t", 2) ||
        !is_training(line))
        return false;
    add_count(line, units_find("iteration", 9), number.begin, number.value, NAN);
    return true;
}

static void read_bars(struct matched_line *line, bool *done)
{
    struct match_hit hit = empty_hit();
    enum match_bar bar = match_bar_tqdm(&line->scan, &hit);

    *done = bar != MATCH_NO_BAR;
    if (bar == MATCH_NO_BAR)
        bar = match_bar_keras(&line->scan, &hit);
    if (bar == MATCH_BAR && line->count < MATCH_MAX_HITS)
        line->hits[line->count++] = hit;
}

static void read_numbers(struct matched_line *line)
{
    const char *p = line->scan.line;
    struct scan_number number;
    const char *next;

    while (p < line->scan.end) {
        if (!isdigit((unsigned char)*p)) {
            p++;
            continue;
        }
        if (scan_number(&line->scan, p, &number, &next))
            read_number(line, &number, &next);
        p = next;
    }
}

/* A stated rate and a count of the same kind in one line belong together. */
static void join_counts(struct matched_line *line)
{
    struct match_hit *counted = NULL, *stated = NULL;

    for (int i = 0; i < line->count; i++) {
        struct match_hit *hit = &line->hits[i];

        if (hit->unit->class != UNIT_ITERATION)
            continue;
        if (!counted && !isnan(hit->count) && isnan(hit->rate))
            counted = hit;
        if (!stated && !isnan(hit->rate) && isnan(hit->count))
            stated = hit;
    }
    if (!counted || !stated)
        return;
    stated->count = counted->count;
    stated->total = counted->total;
    stated->epoch = counted->epoch;
    *counted = line->hits[--line->count];
}

static void add_epoch(struct matched_line *line)
{
    struct match_hit *hit;

    if (isnan(line->epoch) || line->count > 0 || !is_whole(line->epoch))
        return;
    hit = add_hit(line, units_find("epoch", 5));
    hit->count = line->epoch;
    hit->total = line->epoch_total;
    hit->trust = MATCH_SURE;
}

static bool has_digit(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (isdigit((unsigned char)text[i]))
            return true;
    return false;
}

int match_line(const char *text, size_t length, struct match_hit *hits)
{
    struct matched_line line = {.scan = {.line = text, .end = text + length},
                                .hits = hits,
                                .taken = text,
                                .epoch = NAN,
                                .epoch_total = NAN,
                                .training = -1};
    bool done = false;
    int rank;

    if (!has_digit(text, length))
        return 0;
    read_bars(&line, &done);
    if (!done) {
        if (!boosting_round(&line))
            read_numbers(&line);
        join_counts(&line);
        add_epoch(&line);
    }
    if (line.count == 0)
        return 0;
    rank = scan_rank(&line.scan);
    for (int i = 0; i < line.count; i++)
        hits[i].rank = rank;
    return line.count;
}
