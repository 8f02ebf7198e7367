/* pair_replay.h - cells that pairs had to forget, kept for P1 and P2 to learn from
 *
 * The core costs more with each observation and keeps few of them (pairs.h).  Lessons for
 * the networks (network_lesson.h) cost the same whether they draw from few or many, so
 * what leaves the core goes here, and the oldest leaves from here. */
#pragma once

#include "base/vec.h"
#include "model/codec.h"
#include "model/kernel.h"

#define PAIR_REPLAY_MAX 1536

struct pair_replay_item {
    struct cell cell;
    double value; /* ln relative speed */
};

struct pair_replay {
    vec_of(struct pair_replay_item) kept; /* oldest first, at most PAIR_REPLAY_MAX */
};

void pair_replay_put(struct pair_replay *replay, struct cell cell, double value);
void pair_replay_fini(struct pair_replay *replay);
void pair_replay_copy(struct pair_replay *to, const struct pair_replay *from);

/* Of jobs and GPU types numbered below these. */
void pair_replay_code(struct pair_replay *replay, struct codec *c, size_t jobs, int gpus);
