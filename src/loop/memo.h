/* memo.h - a model that answers the same question once
 *
 * Jobs told alike are the same to the model, but planners ask for each of them: with
 * hundreds of jobs of a few kinds nearly all questions were put before.  Answers are kept
 * until memo_forget(), which whoever teaches the model has to call. */
#ifndef CORGI_LOOP_MEMO_H
#define CORGI_LOOP_MEMO_H

#include "loop/model.h"

struct memo;

struct memo *memo_create(void);
void memo_destroy(struct memo *memo); /* NULL is fine; the model stays */

/* The model to ask instead of this one, until the next call. */
struct model memo_of(struct memo *memo, struct model *model);
void memo_forget(struct memo *memo);

#endif
