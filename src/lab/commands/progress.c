/* progress.c - `corgi sim`, `eval` and `train` tell it how far they are; it draws the bar
 */
#include "lab/commands/progress.h"

#include "base/clock.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_S  0.1
#define BAR_CELLS 24
/* Work that ends sooner than this never shows a bar. */
#define FIRST_S 0.3

void progress_init(struct progress *p, FILE *out, bool draw, const char *label,
                   double now_s)
{
    *p = (struct progress){.out = out,
                           .draw = draw,
                           .label = label,
                           .start_s = now_s,
                           .next_s = now_s + FIRST_S};
}

void progress_init_stderr(struct progress *p, const char *label)
{
    const char *term = getenv("TERM");
    bool draw = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;

    progress_init(p, stderr, draw, label, clock_wall_s());
}

void progress_end(struct progress *p)
{
    if (!p->shown)
        return;
    fputs("\r\033[K", p->out);
    fflush(p->out);
    p->shown = false;
}

/* "45 s", "3 min 20 s", "2 h 05 min" */
static void print_seconds(FILE *out, double seconds)
{
    long whole = seconds > 0 && seconds < 1e9 ? lround(seconds) : 0;

    if (seconds >= 1e9)
        fputs("very long", out);
    else if (whole < 60)
        fprintf(out, "%ld s", whole);
    else if (whole < 3600)
        fprintf(out, "%ld min %02ld s", whole / 60, whole % 60);
    else
        fprintf(out, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

void progress_update(struct progress *p, double share, double now_s)
{
    int full;

    if (!p->draw || now_s < p->next_s)
        return;
    p->next_s = now_s + REDRAW_S;
    p->shown = true;
    share = fmin(fmax(share, 0), 1);
    full = (int)(share * BAR_CELLS);
    fprintf(p->out, "\r\033[K%s [%.*s%*s] %3.0f%%", p->label, full,
            "########################", BAR_CELLS - full, "", 100 * share);
    if (share > 0) {
        fputs(", ", p->out);
        print_seconds(p->out, (now_s - p->start_s) * (1 - share) / share);
        fputs(" left", p->out);
    }
    fflush(p->out);
}

void progress_show(void *p, double share)
{
    if (share < 1)
        progress_update(p, share, clock_wall_s());
    else
        progress_end(p);
}
