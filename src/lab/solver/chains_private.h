/* chains_private.h - a chain in the making: what chains.c and paths.c share */
#pragma once

#include "lab/solver/chains.h"

#define CHAIN_MOST       32   /* devices one can break up */
#define CHAIN_MIN_SAVING 1e-3 /* watts */

/* How a task sits, as the placement has it while a chain is in the making. */
struct chain_sits {
    double excess; /* of its record */
    int record;
    int other; /* who shares with it; -1: nobody */
};

struct chain {
    struct search *s;
    const struct chains_lists *lists;
    const struct chains_effort *effort;
    long steps, end;
    double bonus; /* what the prices of unused devices or stairs could add */
    int broken[CHAIN_MOST];
    int broken_count, broken_most;
    struct {
        int type, i, j;
    } placed[2 * CHAIN_MOST];
    int placed_count;
    int loose[2 * CHAIN_MOST];
    int loose_count;
    int use[PROBLEM_MAX_TYPES]; /* devices in use as the chain has it */
    double gain;                /* excess broken up less reduced cost put in its place */
    bool *taken;                /* (tasks) has part in the chain */
    struct chain_sits *sits;    /* (tasks) */
};

/* An empty chain on the placement as it is; taken must be all false. */
void chain_begin(struct chain *c);

/* Break a record up: its tasks are loose, save the one that is being seated (-1: none).
 * False, and nothing done, when no more may be broken up.  Mended in reverse order. */
bool chain_break(struct chain *c, int record, int seated);
void chain_mend(struct chain *c, int seated);

/* Put tasks that are not on the loose list (any more) at a place; taken back in reverse
 * order. */
void chain_place(struct chain *c, int x, const struct chains_place *place);
void chain_take_back(struct chain *c, const struct chains_place *place);

/* Seat whoever is loose and whatever is used too much; applied when it saves. */
bool chain_go_on(struct chain *c);
