/* p1.h - P1, the initial estimate: how a job nobody measured runs beside others
 *
 * A network (nn/attention.h) from what users told of the job, its rates alone, data
 * sheets and its nearest known jobs, for its own speed and for what it leaves its
 * neighbours.  It learned on synthetic worlds and goes on learning on the cluster
 * (learned_lesson.h). */
#pragma once

#include "model/pair_view.h"
#include "nn/attention.h"

/* The network that ships in this architecture.  The caller owns it. */
struct attention *p1_shipped(enum set_reader_kind kind);

/* What the network sees for some cells of the view's job; what was measured of the job
 * itself is not looked at.  The caller ends it with attention_case_fini(). */
void p1_case(const struct pair_sight *view, const int *cells, size_t count,
             struct attention_case *out);

/* out (count): ln relative speeds. */
void p1_answer(const struct attention *net, const struct pair_sight *view,
               const int *cells, size_t count, struct attention_guess *out);

/* Where the inputs of a case begin that only P2 has. */
#define P1_ALIKE 10
#define P1_ABOUT 21

/* Inputs lie between these. */
static inline nn_real p1_clip(double x)
{
    return (nn_real)(x > 8 ? 8 : x < -8 ? -8 : x);
}

/* Weights inside the binary into a network of that name. */
struct p1_weights {
    const unsigned char *bytes, *end;
};
struct attention *p1_unpack(const char *name, enum set_reader_kind kind,
                            struct p1_weights weights);
