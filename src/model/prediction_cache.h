/* prediction_cache.h - answers a reader of the learned model keeps between questions
 *
 * The one cache between a question and the networks.  Planners ask thousands of cells a
 * round, and most rest on what hardly moves: rates alone, rows of pairs and draws of
 * classes, and what sets a job apart.  A reader (the loop, the planning thread) has one
 * of its own and hands it over with the model (struct model); the model itself is only
 * read, so readers do not disturb each other.
 *
 * An entry knows what it was made from: it is made again when its own class or job was
 * told something new, and when a share of everything else was.  Everything goes when the
 * model counts its classes anew (`generation`).  Not thread-safe: one reader each. */
#pragma once

#include "model/classes.h"
#include "model/job_effects.h"

#include <limits.h>

struct prediction_cache;

/* Who asks for many pairs of a class gets them by the row, which costs least a cell; who
 * asks for the few that run right now gets them one by one. */
enum prediction_cache_pairs { PREDICTION_CACHE_ROWS, PREDICTION_CACHE_CELLS };

struct prediction_cache *prediction_cache_create(enum prediction_cache_pairs pairs);
void prediction_cache_destroy(struct prediction_cache *cache); /* NULL is fine */

/* From now on rows that are out of date are made again only up to so many cells in all
 * (what was made beyond an earlier allowance counts against it), the others are answered
 * as they were; what was never made is made.  A reader that must answer soon says so
 * again and again. */
#define PREDICTION_CACHE_ALL LONG_MAX
void prediction_cache_allow(struct prediction_cache *cache, long cells);

/* Before each question: of which classes, as numbered since when. */
void prediction_cache_sync(struct prediction_cache *cache, const struct classes *classes,
                           uint64_t generation);

/* As the functions of classes.h; only for classes and kinds that were added. */
struct class_guess prediction_cache_alone(struct prediction_cache *cache, int cls,
                                          int type);
struct class_guess prediction_cache_beside(struct prediction_cache *cache, int kind,
                                           int type, int other);
struct watts_guess prediction_cache_watts(struct prediction_cache *cache, int cls,
                                          int type);

/* What sets a job apart on a type, as it was kept; version tells what it was made from, 0
 * never.  The caller fills it when that is not the version it should be. */
struct job_factor *prediction_cache_factor(struct prediction_cache *cache, uint64_t job,
                                           int type);

/* The version of a class's rates alone as this cache knows them. */
uint64_t prediction_cache_version(const struct prediction_cache *cache, int cls);
