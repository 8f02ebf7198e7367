/* suggest.c - the nearest of some names, for "did you mean" */
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Single edits (insert, delete, replace, swap neighbours) that turn a into b; of
 * very long words as if they had nothing in common. */
static size_t distance_of(const char *a, const char *b)
{
    size_t rows[LONGEST + 1][LONGEST + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > LONGEST || b_length > LONGEST)
        return a_length + b_length; /* all out, all in */
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            rows[i][j] = least(rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                               least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[a_length][b_length];
}

void suggest_try(struct suggest *s, const char *name)
{
    size_t distance = distance_of(s->typed, name);
    size_t length = strlen(s->typed);
    /* A third of the word may be wrong; a word cut short by two letters or more is taken
     * as its beginning. */
    bool begins = length >= 2 && strncmp(s->typed, name, length) == 0;

    if (begins)
        distance = 1;
    if (distance * 3 > length + 2)
        return;
    if (!s->best || distance < s->best_distance) {
        s->best = name;
        s->best_distance = distance;
    }
}
