/* metrics.c - figures for Prometheus: service/ counts as things happen, GET /metrics
 * writes them all out */
#include "http/metrics.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNTER, GAUGE, HISTOGRAM };

struct metric_series {
    char *labels;      /* as written: a="b",c="d"; "" for none */
    double value;      /* of a histogram: the sum */
    uint64_t *buckets; /* (bound_count + 1) each alone, not added up */
};

struct metric {
    struct metrics *owner;
    enum kind kind;
    char *name;
    char *help;
    size_t label_count;
    char *label_names[METRICS_MAX_LABELS];
    size_t bound_count;
    double *bounds;
    struct map *index; /* hash of labels -> series */
    vec_of(struct metric_series) series;
};

struct collector {
    void (*collect)(void *ctx);
    void *ctx;
};

struct metrics {
    vec_of(struct metric *) all;
    vec_of(struct collector) collectors;
    struct metric *lost; /* series not kept */
    struct str labels;   /* of the series being looked for, kept to save allocations */
};

/* ---- making them ------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

static void split_labels(struct metric *metric, const char *labels)
{
    while (labels && *labels) {
        size_t length = strcspn(labels, " ");
        char *name = mem_array(char, length + 1);

        memcpy(name, labels, length);
        assert(metric->label_count < METRICS_MAX_LABELS && is_name(name) &&
               strcmp(name, "le") != 0);
        metric->label_names[metric->label_count++] = name;
        labels += length;
        labels += strspn(labels, " ");
    }
}

static struct metric *add_metric(struct metrics *m, enum kind kind, const char *name,
                                 const char *help, const char *labels)
{
    struct metric *metric = mem_new(struct metric);

    assert(is_name(name) && (kind == COUNTER) == str_ends(name, "_total"));
    assert(!str_ends(name, "_ms") && !str_ends(name, "_kwh") && *help);
    vec_each (struct metric *, other, &m->all)
        assert(strcmp((*other)->name, name) != 0);
    metric->owner = m;
    metric->kind = kind;
    metric->name = mem_strdup(name);
    metric->help = mem_strdup(help);
    metric->index = map_create();
    split_labels(metric, labels);
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
    metric->bounds = mem_dup(bounds, count, sizeof(*bounds));
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
    vec_each (struct metric *, it, &m->all) {
        struct metric *metric = *it;

        metric_clear(metric);
        for (size_t i = 0; i < metric->label_count; i++)
            free(metric->label_names[i]);
        free(metric->name);
        free(metric->help);
        free(metric->bounds);
        map_destroy(metric->index);
        vec_free(&metric->series);
        free(metric);
    }
    vec_free(&m->all);
    vec_free(&m->collectors);
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

static const char *format_labels(struct metric *metric, const char *const *labels)
{
    struct str *out = &metric->owner->labels;

    str_clear(out);
    for (size_t i = 0; i < metric->label_count; i++) {
        assert(labels && labels[i]);
        str_addf(out, "%s%s=\"", i ? "," : "", metric->label_names[i]);
        add_escaped(out, labels[i], true);
        str_add(out, "\"");
    }
    assert(!labels || !labels[metric->label_count]);
    return str_text(out);
}

/* Its place, or -1; *key is where it is or would be in the index. */
static long find_series(const struct metric *metric, const char *text, uint64_t *key)
{
    size_t at;

    for (*key = hash_text(text); map_get(metric->index, *key, &at); ++*key)
        if (!strcmp(metric->series.items[at].labels, text))
            return (long)at;
    return -1;
}

static struct metric_series *series_of(struct metric *metric, const char *const *labels)
{
    const char *text = format_labels(metric, labels);
    uint64_t key;
    long at = find_series(metric, text, &key);
    struct metric_series made = {0};

    if (at >= 0)
        return &metric->series.items[at];
    if (metric->series.count >= METRICS_MAX_SERIES) {
        if (metric != metric->owner->lost)
            metric_add(metric->owner->lost, 1, METRIC_LABELS(metric->name));
        return NULL;
    }
    made.labels = mem_strdup(text);
    if (metric->kind == HISTOGRAM)
        made.buckets = mem_array(uint64_t, metric->bound_count + 1);
    map_put(metric->index, key, metric->series.count);
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

/* The index has chains of neighbouring keys, so it is made anew. */
static void index_again(struct metric *metric)
{
    map_destroy(metric->index);
    metric->index = map_create();
    for (size_t i = 0; i < metric->series.count; i++) {
        uint64_t key;

        find_series(metric, metric->series.items[i].labels, &key);
        map_put(metric->index, key, i);
    }
}

void metric_clear(struct metric *metric)
{
    vec_each (struct metric_series, s, &metric->series) {
        free(s->labels);
        free(s->buckets);
    }
    vec_clear(&metric->series);
    index_again(metric);
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
                            const struct metric_series *s)
{
    struct str bound = {0};
    uint64_t sum = 0;

    for (size_t i = 0; i <= metric->bound_count; i++) {
        sum += s->buckets[i];
        str_clear(&bound);
        str_add(&bound, "le=\"");
        add_number(&bound, i < metric->bound_count ? metric->bounds[i] : INFINITY);
        str_add(&bound, "\"");
        add_line(out, metric, "_bucket", s->labels, str_text(&bound), (double)sum);
    }
    add_line(out, metric, "_sum", s->labels, "", s->value);
    add_line(out, metric, "_count", s->labels, "", (double)sum);
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
    vec_each (struct metric_series, s, &metric->series) {
        if (metric->kind == HISTOGRAM)
            write_histogram(out, metric, s);
        else
            add_line(out, metric, "", s->labels, "", s->value);
    }
}

void metrics_collect(struct metrics *m, void (*collect)(void *ctx), void *ctx)
{
    vec_push(&m->collectors, (struct collector){.collect = collect, .ctx = ctx});
}

void metrics_write(struct metrics *m, struct str *out)
{
    vec_each (struct collector, c, &m->collectors)
        c->collect(c->ctx);
    vec_each (struct metric *, metric, &m->all)
        write_metric(out, *metric);
}
