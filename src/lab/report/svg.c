/* svg.c - the drawing under the charts: shapes, scales and axes */
#include "lab/report/svg.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>

/* Mean advance of a letter at 11 px in the sans-serif faces there are, rounded up. */
#define LETTER_WIDTH 6.3
/* A number below the axis needs about this much. */
#define TICK_ROOM 45.0

/* A place: at most one digit behind the point. */
static struct html_figure at(double value)
{
    double tenths = isfinite(value) ? round(value * 10) : 0;
    struct html_figure f;

    snprintf(f.text, sizeof(f.text), "%.7g", tenths == 0 ? 0 : tenths / 10);
    return f;
}

void svg_begin(struct str *out, int id, double width, double height, const char *title,
               const char *description)
{
    str_addf(out,
             "<svg role=\"img\" viewBox=\"0 0 %s %s\" aria-labelledby=\"t%d d%d\">"
             "<title id=\"t%d\">",
             at(width).text, at(height).text, id, id, id);
    html_text(out, title);
    str_addf(out, "</title><desc id=\"d%d\">", id);
    html_text(out, description);
    str_add(out, "</desc>\n");
}

void svg_end(struct str *out)
{
    str_add(out, "</svg>\n");
}

void svg_line(struct str *out, const char *cls, double x1, double y1, double x2,
              double y2)
{
    str_addf(out, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", cls,
             at(x1).text, at(y1).text, at(x2).text, at(y2).text);
}

/* The end of a shape's tag, with its tip inside. */
static void close_shape(struct str *out, const char *tag, const char *tip)
{
    if (!tip) {
        str_add(out, "/>\n");
        return;
    }
    str_add(out, ">");
    html_element(out, "title", tip);
    str_addf(out, "</%s>\n", tag);
}

void svg_rect(struct str *out, const char *cls, double x, double y, double width,
              double height, const char *tip)
{
    str_addf(out, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", cls,
             at(x).text, at(y).text, at(fmax(0, width)).text, at(fmax(0, height)).text);
    close_shape(out, "rect", tip);
}

void svg_text(struct str *out, const char *cls, double x, double y,
              enum svg_anchor anchor, const char *text)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"",
                                          " text-anchor=\"end\""};

    str_addf(out, "<text class=\"%s\"%s x=\"%s\" y=\"%s\">", cls, anchors[anchor],
             at(x).text, at(y).text);
    html_text(out, text);
    str_add(out, "</text>\n");
}

void svg_point(struct str *out, char letter, double x, double y)
{
    str_addf(out, "%c%s %s", letter, at(x).text, at(y).text);
}

void svg_mark(struct str *out, const char *cls, enum svg_shape shape, double x, double y,
              double size, const char *tip)
{
    /* Corners of each shape around its middle; a circle is drawn as such. */
    static const double corners[][8] = {
        [SVG_SQUARE] = {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9},
        [SVG_TRIANGLE] = {0, -1.1, 1.1, 0.9, -1.1, 0.9, 0, -1.1},
        [SVG_DIAMOND] = {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0},
    };

    if (shape == SVG_CIRCLE) {
        str_addf(out, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"", cls,
                 at(x).text, at(y).text, at(size).text);
        close_shape(out, "circle", tip);
        return;
    }
    str_addf(out, "<path class=\"%s\" d=\"", cls);
    for (size_t i = 0; i < 4; i++)
        svg_point(out, i ? 'L' : 'M', x + size * corners[shape][2 * i],
                  y + size * corners[shape][2 * i + 1]);
    str_add(out, "Z\"");
    close_shape(out, "path", tip);
}

double svg_text_width(const char *text)
{
    size_t letters = 0;

    for (; *text; text++)
        letters += ((unsigned char)*text & 0xC0) != 0x80;
    return LETTER_WIDTH * (double)letters;
}

struct scale scale_linear(double from, double to, double at_from, double at_to)
{
    if (!isfinite(from) || !isfinite(to)) {
        from = 0;
        to = 1;
    }
    if (from > to) {
        double other = from;

        from = to;
        to = other;
    }
    if (to - from < 1e-9 * fmax(1e-6, fmax(fabs(from), fabs(to))))
        to = from + fmax(1e-6, fabs(from));
    return (struct scale){.from = from, .to = to, .at_from = at_from, .at_to = at_to};
}

struct scale scale_log(double least, double to, double at_from, double at_to)
{
    if (!isfinite(to) || to <= least)
        to = 10 * least;
    return (struct scale){
        .from = least, .to = to, .at_from = at_from, .at_to = at_to, .log = true};
}

double scale_at(const struct scale *s, double value)
{
    double share;

    if (isnan(value))
        return s->at_from;
    value = fmin(fmax(value, s->from), s->to);
    share = s->log ? log(value / s->from) / log(s->to / s->from)
                   : (value - s->from) / (s->to - s->from);
    return s->at_from + share * (s->at_to - s->at_from);
}

static int log_ticks(const struct scale *s, double ticks[SCALE_MAX_TICKS], int *digits)
{
    int first = (int)ceil(log10(s->from) - 1e-9), count = 0;

    for (int power = first; power <= log10(s->to) + 1e-9 && count < SCALE_MAX_TICKS;
         power++)
        ticks[count++] = pow(10, power);
    *digits = first < 0 ? -first : 0;
    return count;
}

int scale_ticks(const struct scale *s, int wanted, double ticks[SCALE_MAX_TICKS],
                int *digits)
{
    double rough = (s->to - s->from) / (wanted > 0 ? wanted : 1);
    double decade = pow(10, floor(log10(rough)));
    double step = rough / decade < 1.5   ? decade
                  : rough / decade < 3.5 ? 2 * decade
                  : rough / decade < 7.5 ? 5 * decade
                                         : 10 * decade;
    double first = ceil(s->from / step - 1e-9);
    int count = 0;

    if (s->log)
        return log_ticks(s, ticks, digits);
    for (; (first + count) * step <= s->to + 1e-9 * step && count < SCALE_MAX_TICKS;)
        ticks[count] = (first + count) * step, count++;
    *digits = (int)fmax(0, -floor(log10(step) + 1e-9));
    return count;
}

static struct html_figure tick_label(const struct scale *s, double tick, int digits)
{
    if (s->log)
        digits = tick < 1 ? (int)round(-log10(tick)) : 0;
    return html_number(tick, digits);
}

void svg_x_axis(struct str *out, const struct scale *x, double top, double bottom,
                const char *unit)
{
    double ticks[SCALE_MAX_TICKS];
    int room = (int)fmin(6, fmax(2, fabs(x->at_to - x->at_from) / TICK_ROOM));
    int digits, count = scale_ticks(x, room, ticks, &digits);

    for (int i = 0; i < count; i++) {
        double place = scale_at(x, ticks[i]);

        svg_line(out, "grid", place, top, place, bottom);
        svg_text(out, "tick", place, bottom + 15, SVG_MIDDLE,
                 tick_label(x, ticks[i], digits).text);
    }
    svg_text(out, "unit", (x->at_from + x->at_to) / 2, bottom + 30, SVG_MIDDLE, unit);
}

void svg_y_axis(struct str *out, const struct scale *y, double left, double right,
                const char *unit)
{
    double ticks[SCALE_MAX_TICKS];
    int digits, count = scale_ticks(y, 5, ticks, &digits);

    svg_text(out, "unit", 4, 12, SVG_START, unit);
    for (int i = 0; i < count; i++) {
        double place = scale_at(y, ticks[i]);

        svg_line(out, "grid", left, place, right, place);
        svg_text(out, "tick", left - 5, place == y->at_from ? place : place + 4, SVG_END,
                 tick_label(y, ticks[i], digits).text);
    }
}
