/* queue_order.h - who of those that wait goes first
 *
 * Larger priorities first, and six hours of waiting count as a step of priority.  Among
 * equals whoever's user has had the least of the cluster, by the weights of users and
 * accounts (fair_share.h); of one user those whose deadline leaves little time, least
 * first, then in the order of admission.  Where several users
 * wait, a wait counts from when one of the user's jobs last got devices: whoever is
 * served, if only by a small share, is not starved. */
#pragma once

#include "loop/planner.h"

/* The places in `in` of the jobs that wait, in their order; at most the first `most` are
 * sorted by shares, the others by priority.  (in->job_count) places; returns how many. */
size_t queue_order(const struct optimize_input *in, size_t most, size_t *order);
