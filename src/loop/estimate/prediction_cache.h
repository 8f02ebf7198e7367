/* prediction_cache.h - a model that answers the same question once
 *
 * Jobs told alike are the same to the model, but planners ask for each of them: with
 * hundreds of jobs of a few kinds nearly all questions were put before.  Answers are kept
 * until prediction_cache_forget(), which whoever teaches the model has to call. */
#ifndef CORGI_LOOP_ESTIMATE_PREDICTION_CACHE_H
#define CORGI_LOOP_ESTIMATE_PREDICTION_CACHE_H

#include "model/model.h"

struct prediction_cache;

struct prediction_cache *prediction_cache_create(void);
void prediction_cache_destroy(
    struct prediction_cache *memo); /* NULL is fine; the model stays */

/* The model to ask instead of this one, until the next call. */
struct model prediction_cache_of(struct prediction_cache *memo, struct model *model);
void prediction_cache_forget(struct prediction_cache *memo);

#endif
