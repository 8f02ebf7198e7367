/* suggest.h - "did you mean": the known name nearest to a misspelt one */
#pragma once

#include <stddef.h>

struct suggest {
    const char *typed;
    const char *best; /* borrowed from the caller's names; NULL: none is near */
    size_t best_distance;
};

void suggest_try(struct suggest *s, const char *name);
