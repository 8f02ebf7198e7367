/* str.h - a growing string
 *
 *     struct str line = {0};
 *     str_addf(&line, "%d jobs", n);
 *     str_fini(&line);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct str {
    char *text; /* NUL-terminated; NULL while nothing was added */
    size_t length;
    size_t capacity;
};

void str_fini(struct str *s);
void str_clear(struct str *s);
void str_add(struct str *s, const char *text);
void str_add_bytes(struct str *s, const char *bytes, size_t count);
/* So many bytes longer; they begin at the result and are the caller's to fill. */
char *str_grow(struct str *s, size_t count);
void str_addf(struct str *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *str_text(const struct str *s); /* never NULL; borrowed until the next add */
char *str_take(struct str *s);             /* the caller frees; s is empty again */

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* Is the word one of the list, which has this character between its words? */
bool str_in_list(const char *list, char between, const char *word);

/* Bytes of the UTF-8 character that begins here; 0 when it is malformed, overlong, a
 * surrogate or past the last. */
size_t str_utf8_length(const char *text);

/* The next word of a list with commas between, and the list behind it; a word that does
 * not fit is "".  False at the end; *list NULL is an empty one. */
bool str_next_word(const char **list, char *word, size_t size);

/* Copy as much as fits, always terminated; false when it was cut. */
bool str_copy(char *to, size_t size, const char *from);
