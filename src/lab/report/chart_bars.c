/* chart_bars.c - one row a policy: bars, marks with whiskers, bars of parts; see chart.h
 */
#include "lab/report/chart.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_HEIGHT  21.0
#define TOP         6.0
#define AXIS_HEIGHT 36.0
#define LABEL_MAX   165.0
#define VALUE_GAP   6.0

/* Where labels end, the plot lies and the column of numbers begins. */
struct frame {
    double left, right, bottom;
    struct str numbers; /* or other text of the present row */
};

static void value_text(struct str *out, const struct chart_row *row, int digits,
                       bool sign)
{
    str_clear(out);
    html_mean(out, row->value, digits < 0 ? html_digits(row->value.mean) : digits, sign);
}

static struct frame frame_of(const struct chart_row *rows, size_t count, int digits,
                             bool sign)
{
    struct frame f = {0};
    double label = 40, value = 20;

    for (size_t i = 0; i < count; i++) {
        label = fmax(label, svg_text_width(rows[i].label));
        value_text(&f.numbers, &rows[i], digits, sign);
        value = fmax(value, svg_text_width(str_text(&f.numbers)));
    }
    f.left = fmin(label, LABEL_MAX) + 8;
    f.right = CHART_WIDTH - value - VALUE_GAP - 6;
    f.bottom = TOP + ROW_HEIGHT * (double)count;
    return f;
}

static void begin(struct str *out, const struct chart_text *text, const struct frame *f,
                  const struct scale *x)
{
    svg_begin(out, text->id, CHART_WIDTH, f->bottom + AXIS_HEIGHT, text->title,
              text->description);
    chart_x_axis(out, x, TOP, f->bottom, text->unit);
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

/* Label and numbers of a row; the plot between them is the caller's.  Returns its middle.
 */
static double row_text(struct str *out, const struct chart_row *row, size_t i,
                       struct frame *f, int digits, bool sign)
{
    double y = TOP + ROW_HEIGHT * ((double)i + 0.5);

    str_clear(&f->numbers);
    add_label(&f->numbers, row->label);
    svg_text(out, row->strong ? "label strong" : "label", f->left - 6, y + 4, SVG_END,
             str_text(&f->numbers));
    value_text(&f->numbers, row, digits, sign);
    svg_text(out, row->strong ? "value strong" : "value", CHART_WIDTH - 2, y + 4, SVG_END,
             str_text(&f->numbers));
    return y;
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

static void tip_of(struct str *tip, const struct chart_row *row, const char *unit)
{
    str_clear(tip);
    str_addf(tip, "%s: ", row->label);
    html_mean(tip, row->value, html_digits(row->value.mean), false);
    str_addf(tip, " (%s)", unit);
}

/* The largest mean and its whisker, but never so much that the bars vanish. */
static double bars_end(const struct chart_row *rows, size_t count)
{
    double mean = 0, end = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isfinite(rows[i].value.mean))
            continue;
        mean = fmax(mean, rows[i].value.mean);
        end = fmax(end,
                   rows[i].value.mean +
                       (isnan(rows[i].value.half_width) ? 0 : rows[i].value.half_width));
    }
    return fmin(end, 1.4 * mean);
}

void chart_bars(struct str *out, const struct chart_text *text,
                const struct chart_row *rows, size_t count)
{
    struct frame f = frame_of(rows, count, -1, false);
    struct scale x = scale_linear(0, bars_end(rows, count), f.left, f.right);
    struct str tip = {0};

    begin(out, text, &f, &x);
    for (size_t i = 0; i < count; i++) {
        double y = row_text(out, &rows[i], i, &f, -1, false);

        tip_of(&tip, &rows[i], text->unit);
        svg_rect(out, rows[i].cls, f.left, y - 7,
                 scale_at(&x, rows[i].value.mean) - f.left, 14, str_text(&tip));
        whisker(out, &x, rows[i].value, y);
    }
    svg_line(out, "axis", f.left, TOP, f.left, f.bottom);
    svg_end(out);
    str_fini(&tip);
    str_fini(&f.numbers);
}

/* Room for the whiskers as long as the means stay apart. */
static struct scale dots_scale(const struct chart_row *rows, size_t count,
                               const struct chart_dots_axis *axis, const struct frame *f)
{
    double low = axis->low, high = axis->high, least, most, room;

    for (size_t i = 0; i < count; i++) {
        if (!isfinite(rows[i].value.mean))
            continue;
        low = fmin(low, rows[i].value.mean);
        high = fmax(high, rows[i].value.mean);
    }
    least = low;
    most = high;
    room = fmax(0.35 * (high - low), 1e-6);
    for (size_t i = 0; i < count; i++) {
        struct sweep_mean m = rows[i].value;

        if (!isfinite(m.mean) || isnan(m.half_width))
            continue;
        least = fmin(least, m.mean - m.half_width);
        most = fmax(most, m.mean + m.half_width);
    }
    least = fmax(fmax(least, low - room), axis->least);
    most = fmin(fmin(most, high + room), axis->most);
    return scale_linear(least, most, f->left + 6, f->right - 6);
}

static void one_dot(struct str *out, const struct chart_row *row, const struct scale *x,
                    double y, const char *unit)
{
    double at = scale_at(x, row->value.mean);
    struct str tip = {0};

    if (row->value.mean < x->from || row->value.mean > x->to) {
        bool below = row->value.mean < x->from;

        svg_text(out, "arrow", at + (below ? -5 : 5), y + 4, below ? SVG_START : SVG_END,
                 below ? "◀" : "▶");
        return;
    }
    tip_of(&tip, row, unit);
    whisker(out, x, row->value, y);
    svg_mark(out, row->cls, row->shape, at, y, 4.5, str_text(&tip));
    str_fini(&tip);
}

void chart_dots(struct str *out, const struct chart_text *text,
                const struct chart_row *rows, size_t count,
                const struct chart_dots_axis *axis)
{
    struct frame f = frame_of(rows, count, axis->digits, axis->sign);
    struct scale x = dots_scale(rows, count, axis, &f);

    begin(out, text, &f, &x);
    if (!isnan(axis->line))
        svg_line(out, "axis", scale_at(&x, axis->line), TOP, scale_at(&x, axis->line),
                 f.bottom);
    for (size_t i = 0; i < count; i++) {
        double y = row_text(out, &rows[i], i, &f, axis->digits, axis->sign);

        if (!isfinite(rows[i].value.mean))
            continue;
        one_dot(out, &rows[i], &x, y, text->unit);
    }
    svg_end(out);
    str_fini(&f.numbers);
}

static void one_stack(struct str *out, const struct chart_row *row, const struct scale *x,
                      double y, const char *const *part_names, int part_count)
{
    struct str tip = {0};
    double sum = 0;

    for (int p = 0; p < part_count; p++) {
        char cls[16];
        double from = scale_at(x, sum);

        sum += row->parts[p];
        snprintf(cls, sizeof(cls), "part%d", p);
        str_clear(&tip);
        str_addf(&tip, "%s, %s: ", row->label, part_names[p]);
        html_number(&tip, row->parts[p], html_digits(row->parts[p]));
        str_add(&tip, " kWh");
        svg_rect(out, cls, from, y - 7, scale_at(x, sum) - from, 14, str_text(&tip));
    }
    str_fini(&tip);
}

void chart_stacks(struct str *out, const struct chart_text *text,
                  const struct chart_row *rows, size_t count,
                  const char *const *part_names, int part_count)
{
    struct frame f = frame_of(rows, count, -1, false);
    double most = 0;
    struct scale x;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, rows[i].value.mean);
    x = scale_linear(0, most, f.left, f.right);
    begin(out, text, &f, &x);
    for (size_t i = 0; i < count; i++) {
        double y = row_text(out, &rows[i], i, &f, -1, false);

        one_stack(out, &rows[i], &x, y, part_names, part_count);
    }
    svg_line(out, "axis", f.left, TOP, f.left, f.bottom);
    svg_end(out);
    str_fini(&f.numbers);
}
