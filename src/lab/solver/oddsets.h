/* oddsets.h - odd sets of tasks that an LP pairs by halves
 *
 * Of 2k + 1 tasks at most k pairs can share.  Given what the LP has, find sets in which
 * there is more. */
#pragma once

#include <stdbool.h>

struct oddsets_edge {
    int a, b;
    double value; /* how much of the pair there is, over all types */
};

/* Called with the members of each set found (tasks).  False ends the search. */
typedef bool oddsets_found(void *ctx, const int *members, int count);

/* Edges each name a pair once, with a value above 0; returns the sets reported. */
int oddsets_find(int tasks, const struct oddsets_edge *edges, int count,
                 oddsets_found *found, void *ctx);
