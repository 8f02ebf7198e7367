/* chart_rows.c - one row a policy: bars, marks with whiskers, bars of parts;
 * report_page.c calls it with the facts of a load */
#include "lab/report/charts.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *chart_class(enum facts_role role)
{
    static const char *const classes[] = {"corgi", "variant", "opponent", "oracle"};

    return classes[role];
}

enum svg_shape chart_shape(enum facts_role role)
{
    static const enum svg_shape shapes[] = {SVG_CIRCLE, SVG_TRIANGLE, SVG_SQUARE,
                                            SVG_DIAMOND};

    return shapes[role];
}

#define ROW_HEIGHT  21.0
#define ROWS_TOP    6.0
#define AXIS_HEIGHT 36.0
#define LABEL_MAX   165.0
#define VALUE_GAP   12.0

struct rows {
    const struct chart_rows *chart;
    const struct facts_load *load;
    double left, right, bottom; /* of the plot between labels and numbers */
    struct scale x;
    struct str text; /* of the present shape */
};

static struct html_figure label_of(const struct rows *r, size_t i)
{
    struct html_figure f;

    snprintf(f.text, 48, "%s%s", r->load->lines[i].row->policy->name,
             (int)i == r->load->reference ? " (ref)" : "");
    return f;
}

/* Parts have no whiskers. */
static struct sweep_mean mean_of(const struct rows *r, size_t i)
{
    const char *line = (const char *)&r->load->lines[i];
    struct sweep_mean m =
        *(const struct sweep_mean *)(const void *)(line + r->chart->value);

    if (r->chart->kind == CHART_PARTS)
        m.half_width = NAN;
    return m;
}

static struct html_figure value_of(const struct rows *r, size_t i, int digits, bool sign)
{
    struct sweep_mean m = mean_of(r, i);

    return html_mean(m, digits < 0 ? html_digits(m.mean) : digits, sign);
}

static void place_columns(struct rows *r)
{
    double label = 40, value = 20;

    for (size_t i = 0; i < r->load->count; i++) {
        label = fmax(label, svg_text_width(label_of(r, i).text));
        value = fmax(
            value, svg_text_width(value_of(r, i, r->chart->digits, r->chart->sign).text));
    }
    r->left = fmin(label, LABEL_MAX) + 8;
    r->right = CHART_WIDTH - value - VALUE_GAP - 6;
    r->bottom = ROWS_TOP + ROW_HEIGHT * (double)r->load->count;
}

/* From zero to the largest mean and its whisker, but never so far that the bars vanish.
 */
static struct scale bars_scale(const struct rows *r)
{
    double mean = 0, end = 0;

    for (size_t i = 0; i < r->load->count; i++) {
        struct sweep_mean m = mean_of(r, i);

        if (!isfinite(m.mean))
            continue;
        mean = fmax(mean, m.mean);
        end = fmax(end, m.mean + (isnan(m.half_width) ? 0 : m.half_width));
    }
    return scale_linear(0, fmin(end, 1.4 * mean), r->left, r->right);
}

/* Room for the whiskers as long as the means stay apart. */
static struct scale dots_scale(const struct rows *r)
{
    const struct chart_rows *c = r->chart;
    double low = c->low, high = c->high, least = INFINITY, most = -INFINITY, room;

    for (size_t i = 0; i < r->load->count; i++) {
        struct sweep_mean m = mean_of(r, i);

        if (!isfinite(m.mean))
            continue;
        low = fmin(low, m.mean);
        high = fmax(high, m.mean);
        if (isnan(m.half_width))
            continue;
        least = fmin(least, m.mean - m.half_width);
        most = fmax(most, m.mean + m.half_width);
    }
    room = fmax(0.35 * (high - low), 1e-6);
    least = fmax(fmax(fmin(least, low), low - room), c->least);
    most = fmin(fmin(fmax(most, high), high + room), c->most);
    return scale_linear(least, most, r->left + 6, r->right - 6);
}

/* As much of a name as there is room for. */
static void add_label(struct str *out, const char *label)
{
    size_t length = strlen(label);

    if (svg_text_width(label) <= LABEL_MAX) {
        str_add(out, label);
        return;
    }
    length = (size_t)(LABEL_MAX / svg_text_width(label) * (double)length) - 1;
    while (length > 0 && ((unsigned char)label[length] & 0xC0) == 0x80)
        length--;
    str_add_bytes(out, label, length);
    str_add(out, "…");
}

static void row_text(struct str *out, struct rows *r, size_t i, double y)
{
    bool strong = r->load->lines[i].role == FACTS_CORGI;

    str_clear(&r->text);
    add_label(&r->text, label_of(r, i).text);
    svg_text(out, strong ? "label strong" : "label", r->left - 6, y + 4, SVG_END,
             str_text(&r->text));
    svg_text(out, strong ? "value strong" : "value", CHART_WIDTH - 2, y + 4, SVG_END,
             value_of(r, i, r->chart->digits, r->chart->sign).text);
}

static void whisker(struct str *out, const struct scale *x, struct sweep_mean m, double y)
{
    double low, high;

    if (isnan(m.half_width) || isnan(m.mean))
        return;
    low = scale_at(x, m.mean - m.half_width);
    high = scale_at(x, m.mean + m.half_width);
    svg_line(out, "whisker", low, y, high, y);
    /* An interval beyond the plot has no cap there: it goes on. */
    if (m.mean - m.half_width >= x->from)
        svg_line(out, "whisker", low, y - 3, low, y + 3);
    if (m.mean + m.half_width <= x->to)
        svg_line(out, "whisker", high, y - 3, high, y + 3);
}

static const char *row_tip(struct rows *r, size_t i)
{
    str_clear(&r->text);
    str_addf(&r->text, "%s: %s (%s)", label_of(r, i).text, value_of(r, i, -1, false).text,
             r->chart->unit);
    return str_text(&r->text);
}

static void draw_bar(struct str *out, struct rows *r, size_t i, double y)
{
    const struct facts_line *line = &r->load->lines[i];
    struct sweep_mean m = mean_of(r, i);

    svg_rect(out, chart_class(line->role), r->left, y - 7,
             scale_at(&r->x, m.mean) - r->left, 14, row_tip(r, i));
    whisker(out, &r->x, m, y);
}

static void draw_parts(struct str *out, struct rows *r, size_t i, double y)
{
    const struct facts_line *line = &r->load->lines[i];
    double sum = 0;

    for (int p = 0; p < FACTS_PARTS; p++) {
        double from = scale_at(&r->x, sum), kwh = line->parts_kwh[p];
        char cls[16];

        sum += kwh;
        snprintf(cls, sizeof(cls), "part%d", p);
        str_clear(&r->text);
        str_addf(&r->text, "%s, %s: %s kWh", label_of(r, i).text,
                 facts_part_name((enum facts_part)p),
                 html_number(kwh, html_digits(kwh)).text);
        svg_rect(out, cls, from, y - 7, scale_at(&r->x, sum) - from, 14,
                 str_text(&r->text));
    }
}

static void draw_dot(struct str *out, struct rows *r, size_t i, double y)
{
    const struct facts_line *line = &r->load->lines[i];
    struct sweep_mean m = mean_of(r, i);
    double at = scale_at(&r->x, m.mean);

    if (!isfinite(m.mean))
        return;
    if (m.mean < r->x.from || m.mean > r->x.to) {
        bool below = m.mean < r->x.from;

        svg_text(out, "arrow", at + (below ? -5 : 5), y + 4, below ? SVG_START : SVG_END,
                 below ? "◀" : "▶");
        return;
    }
    whisker(out, &r->x, m, y);
    svg_mark(out, chart_class(line->role), chart_shape(line->role), at, y, 4.5,
             row_tip(r, i));
}

/* The same numbers in words, for those who do not see the picture. */
static void describe_rows(struct str *text, const struct rows *r)
{
    bool parts = r->chart->kind == CHART_PARTS;

    if (!parts)
        str_addf(text, "%s: ", r->chart->unit);
    for (size_t i = 0; i < r->load->count; i++) {
        const double *kwh = r->load->lines[i].parts_kwh;

        str_addf(text, "%s%s%s", i ? "; " : "", label_of(r, i).text, parts ? ":" : " ");
        if (!parts)
            str_add(text, value_of(r, i, r->chart->digits, false).text);
        for (int p = 0; p < FACTS_PARTS && parts; p++)
            str_addf(text, " %s %s", facts_part_name((enum facts_part)p),
                     html_number(kwh[p], html_digits(kwh[p])).text);
    }
    if (!parts)
        str_add(text, ".");
}

void chart_rows(struct str *out, int id, const struct chart_rows *chart,
                const struct facts_load *load)
{
    static void (*const draw[])(struct str * out, struct rows * r, size_t i,
                                double y) = {draw_bar, draw_parts, draw_dot};
    struct rows r = {.chart = chart, .load = load};
    struct str title = {0}, description = {0};

    place_columns(&r);
    r.x = chart->kind == CHART_DOTS ? dots_scale(&r) : bars_scale(&r);
    str_addf(&title, "%s, %s", chart->title, load->label);
    describe_rows(&description, &r);
    svg_begin(out, id, CHART_WIDTH, r.bottom + AXIS_HEIGHT, str_text(&title),
              str_text(&description));
    svg_x_axis(out, &r.x, ROWS_TOP, r.bottom, chart->unit);
    if (chart->kind == CHART_DOTS)
        svg_line(out, "axis", scale_at(&r.x, chart->line), ROWS_TOP,
                 scale_at(&r.x, chart->line), r.bottom);
    for (size_t i = 0; i < load->count; i++) {
        double y = ROWS_TOP + ROW_HEIGHT * ((double)i + 0.5);

        row_text(out, &r, i, y);
        draw[chart->kind](out, &r, i, y);
    }
    if (chart->kind != CHART_DOTS)
        svg_line(out, "axis", r.left, ROWS_TOP, r.left, r.bottom);
    svg_end(out);
    str_fini(&title);
    str_fini(&description);
    str_fini(&r.text);
}
