/* network_choice.h - which architecture P1 and P2 have: the key `learning.model`
 *
 * All three ship, trained from the same games with as many steps. */
#pragma once

#include "nn/set_reader.h"

enum network_choice {
    NETWORKS_AUTO, /* the best by the comparison in docs/estimator.md */
    NETWORKS_FF,
    NETWORKS_GRU,
    NETWORKS_TRANSFORMER,
    NETWORKS_CHOICES
};

extern const char *const network_choice_names[NETWORKS_CHOICES + 1]; /* NULL at the end */

enum set_reader_kind network_choice_kind(enum network_choice choice);
