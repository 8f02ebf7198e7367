/* fields.h - one line of key=value pairs, read pair by pair
 *
 *     struct fields f = {.at = line, .end = line + length};
 *     while ((more = fields_next(&f)) > 0)
 *         use(f.key, f.value);
 *
 * Pairs are apart by blanks; a value with blanks stands in double quotes, where \" and
 * \\ stand for themselves.  Reports, status files and heartbeats are such lines.  Nothing
 * is allocated and nothing beyond `end` is read. */
#ifndef CORGI_PROBE_FIELDS_H
#define CORGI_PROBE_FIELDS_H

#include "base/str.h"

#include <stddef.h>

#define FIELDS_MAX_KEY   32  /* bytes, with the NUL */
#define FIELDS_MAX_VALUE 512 /* likewise */

struct fields {
    const char *at, *end;         /* what is left of the line */
    char key[FIELDS_MAX_KEY];     /* of the present pair: small letters, digits, _ */
    char value[FIELDS_MAX_VALUE]; /* likewise, without its quotes */
};

/* 1: key and value hold the next pair; 0: the line is over (at its end, a newline or a
 * NUL); -1: what comes is no such pair, and nothing behind it can be trusted. */
int fields_next(struct fields *f);

/* Add ` key="text"`: quotes and backslashes escaped, control bytes turned into blanks, at
 * most max_bytes of the text, never half of a UTF-8 character. */
void fields_add_text(struct str *line, const char *key, const char *text,
                     size_t max_bytes);

/* Add ` key=number` with the fewest digits that read back the same; nothing when the
 * number is not finite. */
void fields_add_number(struct str *line, const char *key, double number);

#endif
