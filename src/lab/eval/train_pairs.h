/* train_pairs.h - what P1 and P2 learn from: games with jobs held out of synthetic tables
 */
#pragma once

#include "base/rng.h"
#include "lab/eval/train_data.h"
#include "nn/attention.h"

#include <stdbool.h>

struct train_games {
    struct attention_case **cases; /* (count) */
    size_t count;
};

/* refined: with some measurements of the job (P2), else without (P1).  The listener may
 * be NULL.  The caller ends it with train_games_fini(). */
void train_games_init(struct train_games *games, int worlds, bool refined, uint64_t seed,
                      const struct train_listener *listener);
void train_games_fini(struct train_games *games);
