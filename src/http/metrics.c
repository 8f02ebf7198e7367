/* metrics.c - figures for Prometheus: service/ counts as things happen, GET /metrics
 * writes them all out */
#include "http/metrics.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/vec.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNTER, GAUGE, HISTOGRAM };

struct metric_series {
    double value;      /* of a histogram: the sum */
    uint64_t *buckets; /* (bound_count + 1) each alone, not added up */
};

struct metric {
    struct metrics *owner;
    enum kind kind;
    const char *name, *help;
    const char *labels; /* their names, blanks between; NULL: none */
    size_t bound_count;
    const double *bounds;
    struct intern *texts; /* labels as written, a="b",c="d" -> series */
    vec_of(struct metric_series) series;
};

struct metrics {
    vec_of(struct metric *) all;
    struct metric *lost; /* series not kept */
    struct str labels;   /* of the series being looked for, kept to save allocations */
};

/* ---- making them ------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz_ ")];
}

static struct metric *add_metric(struct metrics *m, enum kind kind, const char *name,
                                 const char *help, const char *labels)
{
    struct metric *metric = mem_new(struct metric);

    assert(is_name(name) && (kind == COUNTER) == str_ends(name, "_total"));
    assert(!str_ends(name, "_ms") && !str_ends(name, "_kwh") && *help);
    assert(!labels || (is_name(labels) && !str_in_list(labels, ' ', "le")));
    vec_each (struct metric *, other, &m->all)
        assert(strcmp((*other)->name, name) != 0);
    metric->owner = m;
    metric->kind = kind;
    metric->name = name;
    metric->help = help;
    metric->labels = labels;
    metric->texts = intern_create();
    vec_push(&m->all, metric);
    return metric;
}

struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels)
{
    return add_metric(m, COUNTER, name, help, labels);
}

struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels)
{
    return add_metric(m, GAUGE, name, help, labels);
}

struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels, const double *bounds, size_t count)
{
    struct metric *metric = add_metric(m, HISTOGRAM, name, help, labels);

    for (size_t i = 0; i < count; i++)
        assert(isfinite(bounds[i]) && (i == 0 || bounds[i] > bounds[i - 1]));
    metric->bounds = bounds;
    metric->bound_count = count;
    return metric;
}

struct metrics *metrics_create(void)
{
    struct metrics *m = mem_new(struct metrics);

    m->lost =
        metrics_counter(m, "corgi_metrics_lost_total",
                        "Updates of series beyond the limit of a metric.", "metric");
    return m;
}

void metrics_destroy(struct metrics *m)
{
    if (!m)
        return;
    vec_each (struct metric *, metric, &m->all) {
        metric_clear(*metric);
        intern_destroy((*metric)->texts);
        vec_free(&(*metric)->series);
        free(*metric);
    }
    vec_free(&m->all);
    str_fini(&m->labels);
    free(m);
}

/* ---- series ------------------------------------------------------------------------ */

static void add_escaped(struct str *out, const char *text, bool quotes)
{
    for (; *text; text++) {
        if (*text == '\\')
            str_add(out, "\\\\");
        else if (*text == '\n')
            str_add(out, "\\n");
        else if (*text == '"' && quotes)
            str_add(out, "\\\"");
        else
            str_add_bytes(out, text, 1);
    }
}

static const char *format_labels(struct metric *metric, const char *const *values)
{
    struct str *out = &metric->owner->labels;
    const char *name = metric->labels;

    str_clear(out);
    for (; name && *name; name += strspn(name, " "), values++) {
        size_t length = strcspn(name, " ");

        assert(values && *values);
        str_addf(out, "%s%.*s=\"", out->length ? "," : "", (int)length, name);
        add_escaped(out, *values, true);
        str_add(out, "\"");
        name += length;
    }
    assert(!values || !*values);
    return str_text(out);
}

/* NULL: there are too many already. */
static struct metric_series *series_of(struct metric *metric, const char *const *labels)
{
    const char *text = format_labels(metric, labels);
    int at = intern_find(metric->texts, text);
    struct metric_series made = {0};

    if (at >= 0)
        return &metric->series.items[at];
    if (metric->series.count >= METRICS_MAX_SERIES) {
        if (metric != metric->owner->lost)
            metric_add(metric->owner->lost, 1, METRIC_LABELS(metric->name));
        return NULL;
    }
    if (metric->kind == HISTOGRAM)
        made.buckets = mem_array(uint64_t, metric->bound_count + 1);
    intern_id(metric->texts, text);
    vec_push(&metric->series, made);
    return &metric->series.items[metric->series.count - 1];
}

void metric_add(struct metric *metric, double amount, const char *const *labels)
{
    struct metric_series *s = series_of(metric, labels);

    assert(metric->kind != HISTOGRAM && (metric->kind == GAUGE || !(amount < 0)));
    if (s && isfinite(amount))
        s->value += amount;
}

void metric_set(struct metric *metric, double value, const char *const *labels)
{
    struct metric_series *s = series_of(metric, labels);

    assert(metric->kind == GAUGE);
    if (s)
        s->value = value;
}

void metric_set_total(struct metric *metric, double total, const char *const *labels)
{
    struct metric_series *s = series_of(metric, labels);

    assert(metric->kind == COUNTER);
    if (s && total > s->value)
        s->value = total;
}

void metric_observe(struct metric *metric, double value, const char *const *labels)
{
    struct metric_series *s = series_of(metric, labels);
    size_t i = 0;

    assert(metric->kind == HISTOGRAM);
    if (!s || isnan(value))
        return;
    while (i < metric->bound_count && value > metric->bounds[i])
        i++;
    s->buckets[i]++;
    s->value += value;
}

void metric_clear(struct metric *metric)
{
    vec_each (struct metric_series, s, &metric->series)
        free(s->buckets);
    vec_clear(&metric->series);
    intern_destroy(metric->texts);
    metric->texts = intern_create();
}

/* ---- writing ----------------------------------------------------------------------- */

static void add_number(struct str *out, double value)
{
    char digits[40];

    if (isnan(value)) {
        str_add(out, "NaN");
    } else if (isinf(value)) {
        str_add(out, value > 0 ? "+Inf" : "-Inf");
    } else {
        for (int precision = 15; precision <= 17; precision++) {
            snprintf(digits, sizeof(digits), "%.*g", precision, value);
            if (strtod(digits, NULL) == value)
                break;
        }
        str_add(out, digits);
    }
}

static void add_line(struct str *out, const struct metric *metric, const char *suffix,
                     const char *labels, const char *more, double value)
{
    str_addf(out, "%s%s", metric->name, suffix);
    if (*labels || *more)
        str_addf(out, "{%s%s%s}", labels, *labels && *more ? "," : "", more);
    str_add(out, " ");
    add_number(out, value);
    str_add(out, "\n");
}

static void write_histogram(struct str *out, const struct metric *metric,
                            const char *labels, const struct metric_series *s)
{
    struct str bound = {0};
    uint64_t sum = 0;

    for (size_t i = 0; i <= metric->bound_count; i++) {
        sum += s->buckets[i];
        str_clear(&bound);
        str_add(&bound, "le=\"");
        add_number(&bound, i < metric->bound_count ? metric->bounds[i] : INFINITY);
        str_add(&bound, "\"");
        add_line(out, metric, "_bucket", labels, str_text(&bound), (double)sum);
    }
    add_line(out, metric, "_sum", labels, "", s->value);
    add_line(out, metric, "_count", labels, "", (double)sum);
    str_fini(&bound);
}

static void write_metric(struct str *out, const struct metric *metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};

    if (metric->series.count == 0)
        return;
    str_addf(out, "# HELP %s ", metric->name);
    add_escaped(out, metric->help, false);
    str_addf(out, "\n# TYPE %s %s\n", metric->name, types[metric->kind]);
    for (size_t i = 0; i < metric->series.count; i++) {
        const struct metric_series *s = &metric->series.items[i];
        const char *labels = intern_name(metric->texts, (int)i);

        if (metric->kind == HISTOGRAM)
            write_histogram(out, metric, labels, s);
        else
            add_line(out, metric, "", labels, "", s->value);
    }
}

void metrics_write(const struct metrics *m, struct str *out)
{
    vec_each (struct metric *, metric, &m->all)
        write_metric(out, *metric);
}
