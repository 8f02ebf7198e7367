/* what_if.h - the same cluster with other cards: what to buy, what to retire
 *
 * "k80:8=l4:2" takes eight K80s out and puts two L4s in; "k80:8=" only takes out, "=l4:2"
 * only puts in; several with commas between. */
#pragma once

#include "base/err.h"
#include "loop/types.h"

/* Replaces *cluster by a changed one; nodes that lose all their GPUs go, new GPUs come in
 * nodes like those that went (like the first node when none went).  On failure *cluster
 * is untouched and err says what to do. */
int what_if_replace(struct cluster **cluster, const char *text, struct err *err);
