/* match_bar.h - progress bars: tqdm and what looks like it, and Keras's */
#ifndef CORGI_PROBE_MATCH_BAR_H
#define CORGI_PROBE_MATCH_BAR_H

#include "probe/match_private.h"

enum match_bar {
    MATCH_NO_BAR,
    MATCH_BAR,       /* the hit is filled */
    MATCH_OTHER_BAR, /* it is a bar, but of bytes: the line says nothing of interest */
};

/* " 45%|####5     | 450/1000 [00:30<00:37, 14.9it/s, loss=0.1]", with or without total */
enum match_bar match_bar_tqdm(const struct scan *scan, struct match_hit *hit);

/* "100/500 [=====>......] - ETA: 12s", "100/500 ━━━━━━ 12s 30ms/step": the count; the
 * rate is found like any other. */
enum match_bar match_bar_keras(const struct scan *scan, struct match_hit *hit);

#endif
