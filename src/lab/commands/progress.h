/* progress.h - a bar on stderr while long work runs
 *
 * Drawn only when stderr is a terminal, at most ten times a second, and wiped at the end:
 * nothing of it reaches a log or a pipe.  Not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *out;
    const char *label; /* borrowed */
    bool draw;
    bool shown;
    double start_s; /* as of clock_wall_s() */
    double next_s;  /* not drawn again before this */
};

/* draw: whether the stream is to be drawn on at all. */
void progress_init(struct progress *p, FILE *out, bool draw, const char *label,
                   double now_s);
void progress_init_stderr(struct progress *p, const char *label);
void progress_update(struct progress *p, double share, double now_s); /* 0 to 1 */
/* For those who take a callback: the share now; 1 wipes the bar. */
void progress_show(void *p, double share);
void progress_end(struct progress *p); /* wipes the bar */
