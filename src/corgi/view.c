/* view.c - the commands that ask the daemon give their answers to these functions, which
 * print them; base/table.c does the aligning */
#include "corgi/view.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct view_cell {
    char *text;
    enum table_colour colour;
};

struct view {
    const struct view_column *columns;
    size_t width; /* columns there are */
    size_t rows;
    vec_of(struct view_cell) cells; /* (rows, width) */
};

struct view *view_create(const struct view_column *columns)
{
    struct view *v = mem_new(struct view);

    v->columns = columns;
    while (columns[v->width].title)
        v->width++;
    return v;
}

void view_destroy(struct view *v)
{
    if (!v)
        return;
    vec_each (struct view_cell, cell, &v->cells)
        free(cell->text);
    vec_free(&v->cells);
    free(v);
}

void view_cell(struct view *v, const char *text)
{
    const struct view_cell cell = {.text = mem_strdup(text && *text ? text : "-")};

    vec_push(&v->cells, cell);
}

void view_cellf(struct view *v, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    view_cell(v, text);
}

void view_mark(struct view *v, enum table_colour colour)
{
    v->cells.items[v->cells.count - 1].colour = colour;
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

static void add_member(struct view *v, const struct view_column *column,
                       const struct json_value *row, const void *ctx)
{
    const char *name;
    const struct json_value *owner = owner_of(row, ctx, column->key, &name);
    double number = view_number(owner, name);
    char a[VIEW_SIZE], b[VIEW_SIZE];

    switch (column->as) {
    case VIEW_TEXT:
        view_cell(v, view_text(owner, name));
        break;
    case VIEW_COUNT:
        view_cellf(v, "%.0f", number);
        break;
    case VIEW_RATE:
        view_cell(v, view_rate(a, number));
        break;
    case VIEW_JOULES:
        view_cell(v, view_joules(a, number));
        break;
    case VIEW_WATTS:
        view_cell(v, view_watts(a, number));
        break;
    case VIEW_TIME:
        view_cell(v, view_time(a, number));
        break;
    case VIEW_SHARE:
        snprintf(a, sizeof(a), "%.0f%%", 100 * number);
        view_cell(v, isfinite(number) ? a : NULL);
        break;
    case VIEW_YES_NO:
        view_cell(v, json_value_kind(json_value_get(owner, name)) != JSON_KIND_BOOL ? NULL
                     : view_flag(owner, name) ? "yes"
                                              : "no");
        break;
    case VIEW_USE:
        snprintf(b, sizeof(b), "%.0f", view_number(row, column->limit));
        view_cellf(v, "%s/%s", view_rate(a, number),
                   isfinite(view_number(row, column->limit)) ? b : "-");
        break;
    }
}

void view_row(struct view *v, const struct json_value *row, const void *ctx)
{
    v->rows++;
    for (const struct view_column *column = v->columns; column->title; column++) {
        if (column->add)
            column->add(v, row, ctx);
        else
            add_member(v, column, row, ctx);
    }
}

void view_rows(struct view *v, const struct json_value *list, const void *ctx)
{
    for (size_t i = 0; i < json_value_count(list); i++)
        view_row(v, json_value_item(list, i), ctx);
}

size_t view_row_count(const struct view *v)
{
    return v->rows;
}

static const char *title_of(const struct view_column *column)
{
    return column->title + (*column->title == '>');
}

static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\')
            putchar('\\');
        if (*text == '\n')
            fputs("\\n", stdout);
        else
            putchar(*text);
    }
}

static void print_parsable(const struct view *v)
{
    for (size_t i = 0; i < v->width; i++)
        printf("%s%s", i ? "|" : "", title_of(&v->columns[i]));
    putchar('\n');
    for (size_t i = 0; i < v->cells.count; i++) {
        print_escaped(v->cells.items[i].text);
        putchar((i + 1) % v->width ? '|' : '\n');
    }
}

int view_print(const struct view *v, bool parsable, struct err *err)
{
    struct table *t;
    int rc;

    if (parsable) {
        print_parsable(v);
        return 0;
    }
    t = table_create();
    for (size_t i = 0; i < v->width; i++)
        table_column(t, title_of(&v->columns[i]),
                     *v->columns[i].title == '>' ? TABLE_RIGHT : TABLE_LEFT);
    for (size_t i = 0; i < v->cells.count; i++) {
        if (i % v->width == 0)
            table_row(t);
        table_cell(t, v->cells.items[i].text);
        table_mark(t, v->cells.items[i].colour);
    }
    rc = table_print(t, stdout, err);
    table_destroy(t);
    return rc;
}

static void add_key(struct view *v, const struct json_value *value, const void *ctx)
{
    (void)value;
    view_cell(v, ctx);
}

static void add_value(struct view *v, const struct json_value *value, const void *ctx)
{
    double number;
    bool flag;

    (void)ctx;
    if (json_value_number(value, &number))
        view_cellf(v, "%.15g", number);
    else if (json_value_bool(value, &flag))
        view_cell(v, flag ? "true" : "false");
    else
        view_cell(v, json_value_string(value));
}

int view_print_members(const struct json_value *object, bool parsable, struct err *err)
{
    static const struct view_column columns[] = {
        {"KEY", .add = add_key}, {"VALUE", .add = add_value}, {0}};
    struct json_iter it = {.object = object};
    struct view *v = view_create(columns);
    int rc;

    while (json_iter_next(&it))
        if (json_value_kind(it.value) != JSON_KIND_OBJECT &&
            json_value_kind(it.value) != JSON_KIND_ARRAY)
            view_row(v, it.value, it.key);
    rc = view_print(v, parsable, err);
    view_destroy(v);
    return rc;
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

const char *view_rate(char *out, double per_s)
{
    if (!isfinite(per_s))
        return none(out);
    snprintf(out, VIEW_SIZE, "%.4g", per_s);
    return out;
}

const char *view_joules(char *out, double joules)
{
    if (!isfinite(joules))
        return none(out);
    if (fabs(joules) < 3600)
        return with_unit(out, joules, " J");
    if (fabs(joules) < 3.6e6)
        return with_unit(out, joules / 3600, " Wh");
    return with_unit(out, joules / 3.6e6, " kWh");
}

const char *view_watts(char *out, double watts)
{
    if (!isfinite(watts))
        return none(out);
    return fabs(watts) < 10000 ? with_unit(out, watts, " W")
                               : with_unit(out, watts / 1000, " kW");
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

    if (!isfinite(since_1970_s) || fabs(since_1970_s) > 1e12)
        return none(out);
    whole = (time_t)since_1970_s;
    if (!localtime_r(&whole, &tm) || !strftime(out, VIEW_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
        return none(out);
    return out;
}

/* ---- members ----------------------------------------------------------------------- */

const char *view_text(const struct json_value *object, const char *key)
{
    return json_value_string(json_value_get(object, key));
}

const char *view_text_or(const struct json_value *object, const char *key,
                         const char *instead)
{
    const char *text = view_text(object, key);

    return text ? text : instead;
}

double view_number(const struct json_value *object, const char *key)
{
    double number = NAN;

    json_value_number(json_value_get(object, key), &number);
    return number;
}

bool view_flag(const struct json_value *object, const char *key)
{
    bool flag = false;

    json_value_bool(json_value_get(object, key), &flag);
    return flag;
}
