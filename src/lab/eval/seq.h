/* seq.h - P2 as a GRU or a Transformer over single observations
 *
 * The other two architectures of the field, for the table that compares them: instead of
 * statistics only, they also read the observations most correlated with the cell, one
 * token each. */
#pragma once

#include "lab/eval/measured_table.h"
#include "model/gp.h"
#include "model/stat_network.h"
#include "lab/nn/seqnet.h"

enum { SEQ_LENGTH = 8, SEQ_TOKEN = 8 };

struct seq_row {
    struct statnet_row stat;
    float tokens[SEQ_LENGTH * SEQ_TOKEN];
    float mask[SEQ_LENGTH];
};

struct seq;

/* As trained on the synthetic world.  The caller owns it. */
struct seq *seq_shipped(enum seqnet_kind kind);
void seq_destroy(struct seq *seq); /* NULL is fine */

/* Jobs and GPUs of a table, and how alike their cells are.  The caller ends it with
 * gp_destroy(). */
struct gp *seq_kernel(const struct measured *table);

/* Tokens of a cell from what was seen; row->stat is filled already. */
void seq_tokens(const struct gp *kernel, const struct stats_seen *seen, struct cell cell,
                struct seq_row *row);

void seq_predict(const struct seq *seq, const struct seq_row *rows, size_t count,
                 struct statnet_guess *out);
