/* units.h - what is counted, and rates as people write them
 *
 * "12.5it/s", "80 ms/step", "1.2k tokens per second", "train_steps_per_second": a unit
 * word and a second, in either order.  Bytes are no unit here, so downloads and disks do
 * not look like work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Best first: of two rates in one line the one of the lower class is the job's. */
enum unit_class {
    UNIT_ITERATION, /* steps, iterations, batches: all ranks do the same one together */
    UNIT_ITEM,      /* samples, tokens, requests: each rank has its own */
    UNIT_EPOCH,
    UNIT_CLASS_COUNT
};

struct work_unit {
    const char *name; /* singular: "step" */
    enum unit_class class;
    bool counter; /* "step 120" is a count of it; "token 120" could be anything */
};

/* The unit of a word in any case, singular or plural or usual short form; NULL: none. */
const struct work_unit *units_find(const char *word, size_t length);
const struct work_unit *units_item(void); /* for units nobody heard of, "item" */

/* A rate made of a number and what is written around it: rate = number * factor, or
 * factor / number when it is the time of one. */
struct unit_rate {
    const struct work_unit *unit;
    double factor;
    bool inverse;
};

/* The words right behind a number: "it/s", " ms/step", "k tokens per second", "fps".
 * any_unit: take words that are not in the table as items, bytes and bits excepted.
 * Returns how many bytes it is, 0 when it is no rate. */
size_t units_suffix(const char *text, size_t length, bool any_unit,
                    struct unit_rate *rate);

/* The phrase before a number: "train_steps_per_second", "SamplesPerSec",
 * "global_step/sec", "elapsed time per iteration (ms)", "iter time (s)", "ups". */
bool units_key(const char *text, size_t length, struct unit_rate *rate);

/* number and what was found around it; NaN when that makes no sense. */
double units_apply(const struct unit_rate *rate, double number);

/* Of the letters k, K, M and G; 0 for any other. */
double units_multiplier(char c);

/* Behind the blanks, and behind the letters, that stand at p. */
const char *units_skip_blanks(const char *p, const char *end);
const char *units_skip_letters(const char *p, const char *end);

/* Seconds in a word of time: "ms" 0.001, "sec" 1, "min" 60; 0 when it is none. */
double units_time(const char *word, size_t length);
