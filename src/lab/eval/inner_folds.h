/* inner_folds.h - the protocol's game played inside a catalogue, as rows to learn from
 *
 * Each job of the catalogue (with its family, where the fold splits by family) is held
 * out in turn, a few of its pairs are shown, and its other cells become rows. */
#pragma once

#include "lab/eval/fold.h"
#include "model/stat_network.h"

struct rehearsal {
    size_t count;
    struct statnet_row *rows; /* (count) */
    int *group; /* (count) 0 .. REHEARSAL_GROUPS - 1, whole folds together */
};

enum { REHEARSAL_GROUPS = 3 };

void rehearsal_init(struct rehearsal *rehearsal, const struct fold *fold);
void rehearsal_fini(struct rehearsal *rehearsal);

/* The group of a job of the catalogue. */
int rehearsal_group(const struct fold *fold, int job);
