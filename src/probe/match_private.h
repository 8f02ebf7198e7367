/* match_private.h - numbers and words in a line, for match.c and match_bar.c */
#ifndef CORGI_PROBE_MATCH_PRIVATE_H
#define CORGI_PROBE_MATCH_PRIVATE_H

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

/* A clock time m:ss or h:mm:ss at p; NULL when there is none, else behind it. */
const char *scan_clock(const char *p, const char *end);

/* What a bar's label tells about the kind of work: words like "validation" or "loading".
 */
enum match_role scan_role(const char *text, const char *end);
bool scan_evaluates(const char *text, const char *end); /* only the former */

/* The text's letters in small, without digits and signs, as a number; 0 when empty. */
uint32_t scan_label(const char *text, const char *end);

/* "[rank3]", "rank=3", "(Rank 3)", "[default3]:" at the beginning; -1: none. */
int scan_rank(const struct scan *scan);

/* Does the line speak of training: loss, lr, eta...? */
bool scan_is_training(const struct scan *scan);

#endif
