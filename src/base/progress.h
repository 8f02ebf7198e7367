/* progress.h - a bar on stderr while long work runs
 *
 * Drawn only when stderr is a terminal, at most ten times a second, and wiped at the end:
 * nothing of it reaches a log or a pipe.  Call progress_update() as often as you like.
 * Not thread-safe. */
#ifndef CORGI_BASE_PROGRESS_H
#define CORGI_BASE_PROGRESS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>

struct progress;

/* The total is in any unit; 0 or less when it is unknown (then no bar and no time left,
 * only the label and the count). */
struct progress *progress_create(const char *label, double total);
void progress_destroy(struct progress *p); /* wipes the bar; NULL is fine */

void progress_update(struct progress *p, double done); /* NULL is fine */
void progress_label(struct progress *p, const char *label);

/* For tests: another stream, drawn or not whatever it is, on a clock of the caller's,
 * borrowed. */
struct progress *progress_create_on(FILE *out, bool draw, const struct clock *clock,
                                    const char *label, double total);

/* "45 s", "3 min 20 s", "2 h 05 min", into a buffer of at least 24 bytes. */
void progress_format_seconds(char *out, size_t size, double seconds);

#endif
