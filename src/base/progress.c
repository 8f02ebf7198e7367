/* progress.c - a line on the terminal while something long runs */
#include "base/progress.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_S  0.1
#define BAR_CELLS 24
/* Work that ends sooner than this never shows a bar. */
#define FIRST_S 0.3

struct progress {
    FILE *out;
    bool draw;
    bool shown;
    const struct clock *clock;
    struct clock own_clock;
    char label[40];
    double total;
    double start_s;
    double next_s; /* not drawn again before this */
};

struct progress *progress_create_on(FILE *out, bool draw, const struct clock *clock,
                                    const char *label, double total)
{
    struct progress *p = mem_new(struct progress);

    p->out = out;
    p->draw = draw;
    p->clock = clock;
    p->total = total;
    progress_label(p, label);
    p->start_s = clock_now_s(clock);
    p->next_s = p->start_s + FIRST_S;
    return p;
}

struct progress *progress_create(const char *label, double total)
{
    struct clock clock = clock_real();
    const char *term = getenv("TERM");
    bool draw = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    struct progress *p = progress_create_on(stderr, draw, &clock, label, total);

    p->own_clock = clock;
    p->clock = &p->own_clock;
    return p;
}

void progress_destroy(struct progress *p)
{
    if (!p)
        return;
    if (p->shown) {
        fputs("\r\033[K", p->out);
        fflush(p->out);
    }
    free(p);
}

void progress_label(struct progress *p, const char *label)
{
    if (p)
        str_copy(p->label, sizeof(p->label), label);
}

void progress_format_seconds(char *out, size_t size, double seconds)
{
    long whole = seconds > 0 && seconds < 1e9 ? lround(seconds) : 0;

    if (seconds >= 1e9)
        str_copy(out, size, "very long");
    else if (whole < 60)
        snprintf(out, size, "%ld s", whole);
    else if (whole < 3600)
        snprintf(out, size, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(out, size, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

static void draw_bar(struct progress *p, double done, double elapsed_s)
{
    double share = fmin(fmax(done / p->total, 0), 1);
    int full = (int)(share * BAR_CELLS);
    char left[32];

    fprintf(p->out, "\r\033[K%s [%.*s%*s] %3.0f%%", p->label, full,
            "########################", BAR_CELLS - full, "", 100 * share);
    if (share > 0) {
        progress_format_seconds(left, sizeof(left), elapsed_s * (1 - share) / share);
        fprintf(p->out, ", %s left", left);
    }
}

void progress_update(struct progress *p, double done)
{
    double now_s;

    if (!p || !p->draw)
        return;
    now_s = clock_now_s(p->clock);
    if (now_s < p->next_s)
        return;
    p->next_s = now_s + REDRAW_S;
    p->shown = true;
    if (p->total > 0)
        draw_bar(p, done, now_s - p->start_s);
    else
        fprintf(p->out, "\r\033[K%s %.0f", p->label, done);
    fflush(p->out);
}
