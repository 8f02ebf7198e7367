/* near.h - the best move of a record against the few others that could matter
 *
 * Looking at all records costs as much as there are.  Those with a task that would go
 * well with one of the record's own, going by reduced cost, are nearly always enough, and
 * finding them is a sweep of a few operations a task. */
#pragma once

#include "lab/solver/solver_search.h"

#define NEAR_MOST 32

/* Tasks placed in s that cost least as partners of i beyond what they are worth, at most
 * `most` (up to NEAR_MOST); returns how many. */
int near_partners(struct search *s, int i, int most, int *partners);

/* Keep all tasks of s in order for near_best(), which is faster then; in w's arena. Until
 * s->index is NULL again only near_best() may change s, and worth and prices stay. */
void near_index_tasks(struct search *s);

/* Like search_best(), against the records of near partners and a few at random. */
bool near_best(struct search *s, int record, int most);

/* Records that cost more than they are worth, against those near to them, as far as the
 * effort (in evaluations) goes; returns the moves made. */
long near_focus(struct search *s, long effort);
