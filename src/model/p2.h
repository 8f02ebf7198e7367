/* p2.h - P2, the refinement: what some measurements of a job say of all its other cells
 *
 * The network of P1 with everything measured of the job itself on any type and beside
 * anybody: how far each known job is from these measurements, and how they correct cells
 * that vary with them.  Trained and kept as P1 is. */
#pragma once

#include "model/p1.h"

/* As the functions of p1.h; what is shown to the view counts. */
struct attention *p2_shipped(enum set_reader_kind kind);
void p2_case(const struct pair_sight *view, const int *cells, size_t count,
             struct attention_case *out);
void p2_answer(const struct attention *net, const struct pair_sight *view,
               const int *cells, size_t count, struct attention_guess *out);
