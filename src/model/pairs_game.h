/* pairs_game.h - what pairs would answer for a job after these or those measurements
 *
 * Lessons play it with jobs of the catalogue as if they (and what goes with them) had
 * never been measured, to learn how wide intervals have to be; `corgi eval` plays it with
 * jobs that were never told.  The answers are those of pairs_predict() after pairs_put().
 */
#pragma once

#include "model/joint.h"
#include "model/pairs.h"

struct pairs_game;

/* With a job of which nothing was measured: `count` of its cells. */
struct pairs_game *pairs_game_create(const struct pairs *pairs, int job,
                                     const struct cell *cells, size_t count);
void pairs_game_destroy(struct pairs_game *game); /* NULL is fine */

/* Everything about the hidden jobs (job_count of them) taken out of the cores, once for
 * the games with all of them. */
struct pairs_held {
    const struct pairs *pairs;
    const bool *hidden;
    size_t count;               /* observations of hidden jobs, */
    size_t *which;              /* (count) which ones */
    struct joint fitted, plain; /* of these, given all others */
};

/* precision: of the two cores, see gp_precision().  -1: the numbers do not allow it. */
int pairs_held_init(struct pairs_held *held, const struct pairs *pairs,
                    const double *precision_fitted, const double *precision_plain,
                    const bool *hidden);
void pairs_held_fini(struct pairs_held *held);

/* With a hidden job: all of its cells beside jobs that are not.  NULL: it has none. */
struct pairs_game *pairs_game_of_held(const struct pairs_held *held, int job);

/* The cells of a game, and of held ones what they were. */
const struct cell *pairs_game_cells(const struct pairs_game *game, size_t *count,
                                    const double **values);

/* After `seen` cells had these values: of the asked ones, out (asked_count).  raw, unless
 * NULL: what was believed before widths and the point were made of it. */
void pairs_game_play(struct pairs_game *game, const size_t *seen, const double *values,
                     size_t seen_count, const size_t *asked, size_t asked_count,
                     struct pairs_guess *out, struct blend_belief *raw);
