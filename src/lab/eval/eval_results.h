/* eval_results.h - the table `corgi eval` prints, as text for people or JSON for programs
 */
#pragma once

#include "lab/eval/eval_score.h"

#include "base/err.h"

#include <stdio.h>

struct result {
    const char *target; /* isolated, own, effect; NULL in the online protocol */
    const char *scope;  /* online: all, unseen; else NULL */
    const char *method; /* borrowed: a constant */
    int count;          /* observations, or arrivals in the online protocol */
    struct score *score;
};

struct results;

struct results *results_create(const char *protocol);
void results_destroy(struct results *results); /* NULL is fine */

/* The score of this line; made when it is new.  Borrowed. */
struct score *results_score(struct results *results, const char *target,
                            const char *scope, const char *method, int count);

/* Whom to tell how far the work is: from shares `from` to `to` of all of it, as 0 to 1 of
 * the stage that runs now. */
typedef void eval_progress(void *ctx, double share);
void results_on_progress(struct results *results, eval_progress *progress, void *ctx);
void results_begin_stage(struct results *results, double from, double to);
void results_progress(const struct results *results, double share);

/* All lines, in order of first sight.  Borrowed. */
const struct result *results_lines(const struct results *results, size_t *count);

void results_print(const struct results *results, FILE *out);
void results_json(const struct results *results, FILE *out);
