/* fold_net.h - a statistics network on the catalogue of a fold */
#ifndef CORGI_LAB_EVAL_FOLD_NET_H
#define CORGI_LAB_EVAL_FOLD_NET_H

#include "lab/eval/fold.h"
#include "lab/eval/seq.h"
#include "model/stat_network.h"
#include "model/gbt.h"

struct fold_net;

/* Network and trees (NULL: none) are borrowed, and answer with their mean; network NULL:
 * only fold_net_rows() may be asked. */
struct fold_net *fold_net_create(const struct fold *fold, const struct statnet *net,
                                 const struct gbt *trees);
void fold_net_destroy(struct fold_net *net); /* NULL is fine */

/* Let a network over observations answer instead; borrowed. */
void fold_net_use_seq(struct fold_net *net, const struct seq *seq);

/* Features of the asked half of the cells (fold_half), borrowed until the next call. */
const struct statnet_row *fold_net_rows(struct fold_net *net, int job, const size_t *seen,
                                        size_t seen_count, bool effect);

/* Mean and sd of the network and the mean of the trees (2 * fold_half; without trees the
 * network's) for a held-out job after some of its cells were seen.  Only the half asked
 * for (own speeds, effect) is filled. */
void fold_net_predict(struct fold_net *net, int job, const size_t *seen,
                      size_t seen_count, bool effect, double *mean, double *sd,
                      double *trees);

#endif
