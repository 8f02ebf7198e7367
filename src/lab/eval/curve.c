/* curve.c - the online protocol as a picture: eval.c writes it for --curve */
#include "lab/eval/curve.h"

#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define WIDTH  520
#define HEIGHT 300
#define LEFT   60
#define BOTTOM 40
#define TOP    30
#define LEGEND 190

static const char *const colours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
                                      "#8250df", "#57606a", "#bf3989", "#0a3069"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

/* What a panel shows: a target, or a scope of the online protocol. */
static const char *panel_of(const struct result *line)
{
    return line->target ? line->target : line->scope;
}

static double x_of(int count, int most)
{
    return LEFT + (WIDTH - LEFT - 20) * log1p(count) / log1p(most > 0 ? most : 1);
}

static double y_of(double mare, double highest, int top)
{
    return top + TOP + (HEIGHT - TOP - BOTTOM) * (1 - fmin(mare, highest) / highest);
}

static void frame(FILE *out, const char *panel, int top, double highest)
{
    fprintf(out, "<text x='%d' y='%d' font-weight='bold'>%s: error in %%</text>\n", LEFT,
            top + 18, panel);
    for (int i = 0; i <= 4; i++) {
        double value = highest * i / 4, y = y_of(value, highest, top);

        fprintf(out, "<path d='M%d %.1fH%d' stroke='#d0d7de'/>", LEFT, y, WIDTH - 20);
        fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%.0f</text>\n", LEFT - 6,
                y + 4, value);
    }
}

static void draw_method(FILE *out, const struct result *lines, size_t count,
                        const char *panel, const char *method, int most, double highest,
                        int top, int number)
{
    const char *colour = colours[number % COLOURS];
    bool first = true;

    fprintf(out, "<path fill='none' stroke-width='2' stroke='%s' d='", colour);
    for (size_t i = 0; i < count; i++) {
        double mare;

        if (strcmp(panel_of(&lines[i]), panel) || strcmp(lines[i].method, method))
            continue;
        mare = score_sum(lines[i].score).mare;
        if (isnan(mare))
            continue;
        fprintf(out, "%c%.1f %.1f", first ? 'M' : 'L', x_of(lines[i].count, most),
                y_of(mare, highest, top));
        first = false;
    }
    fprintf(out, "'/>\n<text x='%d' y='%d' fill='%s'>%s</text>\n", WIDTH,
            top + TOP + 16 * number + 10, colour, method);
}

/* True when an earlier line has the same panel (and method, when asked). */
static bool shown_before(const struct result *lines, size_t at, bool method)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(panel_of(&lines[i]), panel_of(&lines[at])) &&
            (!method || !strcmp(lines[i].method, lines[at].method)))
            return true;
    return false;
}

static void draw_panel(FILE *out, const struct result *lines, size_t count,
                       const char *panel, int top)
{
    double highest = 5;
    int most = 1, number = 0;

    for (size_t i = 0; i < count; i++) {
        double mare = score_sum(lines[i].score).mare;

        if (strcmp(panel_of(&lines[i]), panel))
            continue;
        if (lines[i].count > most)
            most = lines[i].count;
        /* Absolute rates of unknown jobs are off the scale; the rest should be read. */
        if (mare > highest && mare < 60)
            highest = mare;
    }
    frame(out, panel, top, highest);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(panel_of(&lines[i]), panel))
            continue;
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%d</text>\n",
                x_of(lines[i].count, most), top + HEIGHT - BOTTOM + 16, lines[i].count);
        if (!shown_before(lines, i, true))
            draw_method(out, lines, count, panel, lines[i].method, most, highest, top,
                        number++);
    }
}

int curve_write(const struct results *results, const char *path, struct err *err)
{
    size_t count;
    const struct result *lines = results_lines(results, &count);
    FILE *out = fopen(path, "w");
    int panels = 0, top = 0;

    if (!out)
        return err_sys(err, "cannot write %s", path);
    for (size_t i = 0; i < count; i++)
        panels += !shown_before(lines, i, false);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            WIDTH + LEGEND, HEIGHT * panels);
    for (size_t i = 0; i < count; i++)
        if (!shown_before(lines, i, false)) {
            draw_panel(out, lines, count, panel_of(&lines[i]), top);
            top += HEIGHT;
        }
    fprintf(out, "</svg>\n");
    if (fclose(out) != 0)
        return err_sys(err, "cannot write %s", path);
    return 0;
}
