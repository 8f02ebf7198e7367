/* lengths.h - how long jobs run on, learned from those that ended or have run so far
 *
 * What users tell of the size of a job is often wrong or missing.  The loop follows at
 * what age jobs end, and at what part of the size they were told with.  Both are kept as
 * life tables: how many got as far as a span, how many of them ended within it.  A job
 * that still runs counts for all it has passed, so that long jobs are not forgotten while
 * they run.  One table is of all jobs, one of jobs of the same user told alike, which
 * leans on the former as long as it has seen few.
 *
 * What is asked is the rest of a job that has come this far: a job that has passed what
 * was told, or what is usual, is expected to run on in proportion to that.  A NULL struct
 * is one that has seen nothing: what was told is believed. */
#pragma once

#include "loop/types.h"

struct lengths;

/* As what a job has passed (job_status): it was followed before, nobody knows how far. */
#define LENGTHS_RESUMED -1

struct lengths *lengths_create(void);
void lengths_destroy(struct lengths *lengths); /* NULL is fine */
struct lengths *lengths_dup(const struct lengths *lengths);

/* The same into an old copy. */
void lengths_copy(struct lengths *copy, const struct lengths *lengths);

/* The job has come as far as its status says; it has ended there.  The first tells until
 * when there is nothing to follow while its status stays as it is. */
double lengths_follow(struct lengths *lengths, struct job_status *status, double now_s);
void lengths_ended(struct lengths *lengths, struct job_status *status, double now_s);

/* Is anything known of its length: was it told, or have jobs been seen to end? */
bool lengths_known(const struct lengths *lengths, const struct job *job);

/* What is left of it: steps of training, seconds of a service.  Less than that with
 * probability `share`; 0.5 is the best guess.  rate: steps/s it does or would do. */
double lengths_left(const struct lengths *lengths, const struct job_status *status,
                    double rate, double share, double now_s);

/* The same in seconds. */
double lengths_left_s(const struct lengths *lengths, const struct job_status *status,
                      double rate, double share, double now_s);

/* To bytes and back, see base/bytes.h. */
struct codec;
void lengths_code(struct lengths *lengths, struct codec *c);
