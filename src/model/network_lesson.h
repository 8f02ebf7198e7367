/* network_lesson.h - P1 and P2 go on learning from what was measured on the cluster
 *
 * The part of a lesson (learned_lesson.h) for the two networks.  Families and single jobs
 * that were measured are held out in turn, as in `corgi train`, and the networks learn to
 * say what was measured of them.  A third of the families is never learned from: these
 * judge.  A network that answers for them no better than before stays as it was. */
#pragma once

#include <stdint.h>

struct pairs;

/* On a copy of what is known of pairs; the outcome is in pairs->progress. */
void network_lesson_study(struct pairs *pairs, uint64_t seed);
