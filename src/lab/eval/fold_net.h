/* fold_net.h - a statistics network on the catalogue of a fold */
#pragma once

#include "lab/eval/fold.h"
#include "lab/eval/seq.h"
#include "model/blend.h"
#include "model/gbt.h"

struct fold_net;

/* Network, trees (NULL: none) and a network over observations that answers instead (NULL:
 * none) are borrowed; without any only fold_net_rows() may be asked. */
struct fold_net *fold_net_create(const struct fold *fold, const struct statnet *net,
                                 const struct gbt *trees, const struct seq *seq);
void fold_net_destroy(struct fold_net *net); /* NULL is fine */

/* Features of the asked half of the cells (fold_half), borrowed until the next call. */
const struct statnet_row *fold_net_rows(struct fold_net *net, int job, const size_t *seen,
                                        size_t seen_count, bool effect);

/* What network and trees (without trees the network) say (2 * fold_half) of a held-out
 * job after some of its cells were seen.  Only the half asked for (own speeds, effect) is
 * filled. */
void fold_net_predict(struct fold_net *net, int job, const size_t *seen,
                      size_t seen_count, bool effect, struct blend_said *said);
