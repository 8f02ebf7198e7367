/* match_private.h - what match.c finds within a line, piece by piece */
#pragma once

#include "probe/match.h"

struct scan {
    const char *line, *end;
};

/* A number and where it stands. */
struct scan_number {
    double value;
    const char *begin, *end;
};

/* The number that begins at p: digits, thousands separated by commas, a fraction, an
 * exponent.  False when none begins there or when it is part of a word, a clock time, a
 * version or a date; *next is where to look on. */
bool scan_number(const struct scan *scan, const char *p, struct scan_number *number,
                 const char **next);

/* The phrase before p that could name the number: letters, _ / - ( ) and single blanks,
 * behind what separates it from the number (blanks, = : | " ' [ ( #).  Returns its
 * length, 0 when there is none. */
size_t scan_key(const struct scan *scan, const char *p, const char **key);

/* Does the word stand anywhere in the text, whole and in any case?  "_" ends a word. */
bool scan_has_word(const char *text, const char *end, const char *word);

/* Does the text speak of an evaluation: "validation", "test"...? */
bool scan_evaluates(const char *text, const char *end);

/* A hash of the text's letters, in any case and without digits; 0 when there is none. */
uint64_t scan_label(const char *text, const char *end);

/* "[rank3]", "rank=3", "(Rank 3)", "[default3]:" at the beginning; -1: none. */
int scan_rank(const struct scan *scan);

/* Does the line speak of training: loss, lr, eta...? */
bool scan_is_training(const struct scan *scan);

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
