/* by_user.h - one figure out of what many users measured, which no few of them can move
 *
 * Each user has a value and a weight, and none weighs more than the user in the middle
 * does: so a tenth of the users has less than a fifth of the weight, however much they
 * report, and the weighted median stays among what the others say. */
#pragma once

#include <stddef.h>

struct by_user {
    double value, weight;
};

/* The most a user weighs: the upper median of the weights. */
double by_user_cap(const struct by_user *users, size_t count);

/* The weighted median with that cap.  There is at least one, and one of them weighs
 * something.  Changes their order and weights. */
double by_user_median(struct by_user *users, size_t count);

/* The same without a cap, of any figures with weights; the middle of two where exactly
 * half lies on either side.  Changes their order. */
double by_user_weighted_median(struct by_user *items, size_t count);

/* What all weigh together, each at most the cap. */
double by_user_weight(const struct by_user *users, size_t count);
