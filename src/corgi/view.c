/* view.c - the commands that ask the daemon give its answers to these functions, which
 * make cells, figures and sentences of them; base/table.c prints the cells */
#include "corgi/view.h"

#include "base/energy_unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- columns ----------------------------------------------------------------------- */

struct table *view_table(const struct view_column *columns)
{
    struct table *t = table_create(columns->title);

    while ((++columns)->title)
        table_columns(t, columns->title);
    return t;
}

void view_cell(struct table *t, const char *text)
{
    table_cell(t, text && *text ? text : "-");
}

/* The object that has the member of this key; *name gets the member's own name. */
static const struct json_value *owner_of(const struct json_value *row, const void *ctx,
                                         const char *key, const char **name)
{
    const char *dot = strchr(key, '.');
    char outer[32];

    if (*key == '^') {
        *name = key + 1;
        return ctx;
    }
    *name = dot ? dot + 1 : key;
    if (!dot)
        return row;
    snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
    return json_value_get(row, outer);
}

static void add_member(struct table *t, const struct view_column *column,
                       const struct json_value *row, const void *ctx)
{
    static const char *(*const figures[])(char *out, double value) = {
        [VIEW_RATE] = view_rate,   [VIEW_JOULES] = view_joules, [VIEW_WATTS] = view_watts,
        [VIEW_SHARE] = view_share, [VIEW_TIME] = view_time,
    };
    const char *name;
    const struct json_value *owner = owner_of(row, ctx, column->key, &name);
    double number = view_number(owner, name);
    char a[VIEW_SIZE], b[VIEW_SIZE];

    switch (column->as) {
    case VIEW_TEXT:
        view_cell(t, json_member_string(owner, name));
        break;
    case VIEW_COUNT:
        if (isfinite(number))
            table_cellf(t, "%.0f", number);
        else
            view_cell(t, NULL);
        break;
    case VIEW_YES_NO:
        view_cell(t, json_value_kind(json_value_get(owner, name)) != JSON_KIND_BOOL ? NULL
                     : json_member_bool(owner, name, false) ? "yes"
                                                            : "no");
        break;
    case VIEW_USE:
        snprintf(b, sizeof(b), "%.0f", view_number(row, column->limit));
        table_cellf(t, "%s/%s", view_rate(a, number),
                    isfinite(view_number(row, column->limit)) ? b : "-");
        break;
    default:
        table_cell(t, figures[column->as](a, number));
    }
}

void view_row(struct table *t, const struct view_column *columns,
              const struct json_value *row, const void *ctx)
{
    table_row(t);
    for (; columns->title; columns++) {
        if (columns->add)
            columns->add(t, row, ctx);
        else
            add_member(t, columns, row, ctx);
    }
}

void view_rows(struct table *t, const struct view_column *columns,
               const struct json_value *list, const void *ctx)
{
    for (size_t i = 0; i < json_value_count(list); i++)
        view_row(t, columns, json_value_item(list, i), ctx);
}

int view_finish(struct table *t, bool parsable, struct err *err)
{
    return table_finish(t, parsable ? TABLE_PARSABLE : TABLE_ALIGNED, stdout, err);
}

static bool among(const char *word, const char *const *words)
{
    for (; words && *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

struct table *view_table_of_members(const struct json_value *object,
                                    const char *const *without)
{
    struct table *t = table_create("KEY|VALUE");
    struct json_iter it = {.object = object};
    double number;
    bool flag;

    while (json_iter_next(&it)) {
        if (json_value_kind(it.value) == JSON_KIND_OBJECT ||
            json_value_kind(it.value) == JSON_KIND_ARRAY || among(it.key, without))
            continue;
        table_row(t);
        view_cell(t, it.key);
        if (json_value_number(it.value, &number))
            table_cellf(t, "%.15g", number);
        else if (json_value_bool(it.value, &flag))
            table_cell(t, flag ? "true" : "false");
        else
            view_cell(t, json_value_string(it.value));
    }
    return t;
}

/* ---- figures ----------------------------------------------------------------------- */

static const char *none(char *out)
{
    return strcpy(out, "-");
}

/* Three digits that count, whole numbers from 100 on. */
static const char *with_unit(char *out, double value, const char *unit)
{
    if (fabs(value) >= 100)
        snprintf(out, VIEW_SIZE, "%.0f%s", value, unit);
    else
        snprintf(out, VIEW_SIZE, "%.3g%s", value, unit);
    return out;
}

/* Four digits that count, and never a power of ten. */
const char *view_rate(char *out, double per_s)
{
    double size = fabs(per_s);

    if (!isfinite(per_s))
        return none(out);
    if (size >= 999.95e6)
        snprintf(out, VIEW_SIZE, "%.4gG", per_s / 1e9);
    else if (size >= 999.95e3)
        snprintf(out, VIEW_SIZE, "%.4gM", per_s / 1e6);
    else if (size >= 1000)
        snprintf(out, VIEW_SIZE, "%.0f", per_s);
    else if (size >= 0.0001 || size == 0)
        snprintf(out, VIEW_SIZE, "%.4g", per_s);
    else
        snprintf(out, VIEW_SIZE, "%s0.0001", per_s < 0 ? ">-" : "<");
    return out;
}

const char *view_count(char *out, double count)
{
    char digits[VIEW_SIZE];
    size_t length, used = 0;

    if (!isfinite(count) || fabs(count) > 1e15)
        return none(out);
    length = (size_t)snprintf(digits, sizeof(digits), "%.0f", fabs(count));
    if (count <= -0.5)
        out[used++] = '-';
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *view_plural(char *out, double count, const char *what)
{
    char number[VIEW_SIZE];

    snprintf(out, VIEW_SIZE, "%.25s %.12s%s", view_count(number, count), what,
             count == 1 ? "" : "s");
    return out;
}

const char *view_joules(char *out, double joules)
{
    struct energy_unit unit = energy_unit_of(joules);
    char name[8];

    if (!isfinite(joules))
        return none(out);
    snprintf(name, sizeof(name), " %s", unit.name);
    return with_unit(out, joules / unit.joules, name);
}

const char *view_watts(char *out, double watts)
{
    if (!isfinite(watts))
        return none(out);
    return fabs(watts) < 10000 ? with_unit(out, watts, " W")
                               : with_unit(out, watts / 1000, " kW");
}

const char *view_share(char *out, double share)
{
    if (!isfinite(share))
        return none(out);
    snprintf(out, VIEW_SIZE, "%.0f%%", 100 * share);
    return out;
}

const char *view_elapsed(char *out, double seconds)
{
    long s;

    if (!isfinite(seconds) || fabs(seconds) > 1e12)
        return none(out);
    s = seconds > 0 ? (long)seconds : 0;
    if (s >= 86400)
        snprintf(out, VIEW_SIZE, "%ld-%02ld:%02ld:%02ld", s / 86400, s / 3600 % 24,
                 s / 60 % 60, s % 60);
    else if (s >= 3600)
        snprintf(out, VIEW_SIZE, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, VIEW_SIZE, "%ld:%02ld", s / 60, s % 60);
    return out;
}

const char *view_time(char *out, double since_1970_s)
{
    struct tm tm;
    time_t whole;
    size_t used;

    if (!isfinite(since_1970_s) || fabs(since_1970_s) > 1e12)
        return none(out);
    whole = (time_t)since_1970_s;
    if (!localtime_r(&whole, &tm) || !strftime(out, VIEW_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
        return none(out);
    used = strlen(out);
    if (tm.tm_gmtoff == 0)
        snprintf(out + used, VIEW_SIZE - used, "Z");
    else
        snprintf(out + used, VIEW_SIZE - used, "%c%02ld:%02ld",
                 tm.tm_gmtoff < 0 ? '-' : '+', labs(tm.tm_gmtoff) / 3600,
                 labs(tm.tm_gmtoff) / 60 % 60);
    return out;
}

/* ---- members ----------------------------------------------------------------------- */

const char *view_text_or(const struct json_value *object, const char *key,
                         const char *instead)
{
    const char *text = json_member_string(object, key);

    return text ? text : instead;
}

double view_number(const struct json_value *object, const char *key)
{
    return json_member_number(object, key, NAN);
}

/* ---- a quote in words -------------------------------------------------------------- */

static const char *view_chance(char text[VIEW_SIZE], double chance)
{
    if (chance < 0.01 || chance > 0.99)
        return chance < 0.01 ? "less than 1 %" : "more than 99 %";
    snprintf(text, VIEW_SIZE, "%.0f %%", 100 * chance);
    return text;
}

static void print_rate(const struct json_value *quote, const char *unit, FILE *out)
{
    const struct json_value *rate = json_value_get(quote, "rate");
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];
    double promised = view_number(quote, "promised_rate");
    const char *verdict = json_member_string(quote, "verdict");
    bool kept = !verdict || !strcmp(verdict, "accepted") || !strcmp(verdict, "queued");

    if (isfinite(promised))
        fprintf(out, "  %-9s %s %s at %.0f %% confidence%s\n",
                kept ? "promised" : "possible", view_rate(a, promised), unit,
                100 * view_number(quote, "confidence"),
                kept ? " (so sure is its first place; falling short, it is helped)" : "");
    else if (verdict && !strcmp(verdict, "unpromised"))
        fprintf(out,
                "  promised  not yet: when it was measured for a minute; a chance of %s "
                "as believed now\n",
                view_chance(a, view_number(quote, "chance")));
    if (json_value_kind(rate) == JSON_KIND_OBJECT)
        fprintf(out, "  expected  %s %s (%s to %s, %s)\n",
                view_rate(a, view_number(rate, "value")), unit,
                view_rate(b, view_number(rate, "low")),
                view_rate(c, view_number(rate, "high")),
                view_text_or(rate, "source", "estimated"));
}

static void print_place(const struct json_value *quote, FILE *out)
{
    const struct json_value *neighbour = json_value_get(quote, "neighbour");
    const char *type = json_member_string(quote, "type");
    const char *node = json_member_string(quote, "node");
    const char *beside = json_member_string(neighbour, "name");

    if (!type)
        return;
    fprintf(out, "  where     %s%s%s", type, node ? " on " : "", node ? node : "");
    if (json_value_kind(neighbour) == JSON_KIND_OBJECT)
        fprintf(out, ", beside job %.0f%s%s", view_number(neighbour, "job"),
                beside ? " " : "", beside ? beside : "");
    fputc('\n', out);
}

static void print_cost(const struct json_value *quote, FILE *out)
{
    const struct json_value *joules = json_value_get(quote, "joules");
    const struct json_value *watts = json_value_get(quote, "watts");
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];

    /* Nothing runs for nothing: zero is what nobody knows. */
    if (view_number(joules, "value") > 0 && view_number(joules, "low") > 0)
        fprintf(out, "  energy    %s (%s to %s)\n",
                view_joules(a, view_number(joules, "value")),
                view_joules(b, view_number(joules, "low")),
                view_joules(c, view_number(joules, "high")));
    else if (view_number(joules, "value") > 0)
        fprintf(out, "  energy    %s (up to %s)\n",
                view_joules(a, view_number(joules, "value")),
                view_joules(c, view_number(joules, "high")));
    if (view_number(watts, "value") > 0)
        fprintf(out, "  power     %s\n", view_watts(a, view_number(watts, "value")));
}

static void print_when(const struct json_value *quote, double now_s, FILE *out)
{
    double start_s = view_number(quote, "start_s"), end_s = view_number(quote, "end_s");
    char a[VIEW_SIZE];

    if (isfinite(start_s) && isfinite(now_s) && start_s - now_s < 1)
        fprintf(out, "  start     now\n");
    else if (isfinite(start_s))
        fprintf(out, "  start     %s\n", view_time(a, start_s));
    if (isfinite(end_s))
        fprintf(out, "  end       %s\n", view_time(a, end_s));
}

void view_quote(const struct json_value *quote, const char *unit, double now_s,
                bool with_reason, FILE *out)
{
    const struct json_value *offers = json_value_get(quote, "counter_offers");
    const char *reason = json_member_string(quote, "reason");

    print_rate(quote, unit, out);
    if (view_number(quote, "replicas") > 1)
        fprintf(out, "  replicas  %.0f, each with an equal part\n",
                view_number(quote, "replicas"));
    print_place(quote, out);
    print_cost(quote, out);
    print_when(quote, now_s, out);
    if (with_reason && reason && *reason)
        fprintf(out, "  reason    %s\n", reason);
    for (size_t i = 0; i < json_value_count(offers); i++)
        fprintf(out, "  %-9s %s\n", i ? "" : "offers",
                view_text_or(json_value_item(offers, i), "text", "-"));
}
