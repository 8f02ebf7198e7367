/* view.c - see view.h */
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
    vec_of(char *) titles; /* with '>' where right-aligned */
    vec_of(struct view_cell) cells;
    vec_of(size_t) rows; /* index of the first cell of each */
};

struct view *view_create(void)
{
    return mem_new(struct view);
}

void view_destroy(struct view *v)
{
    if (!v)
        return;
    vec_each (char *, title, &v->titles)
        free(*title);
    vec_each (struct view_cell, cell, &v->cells)
        free(cell->text);
    vec_free(&v->titles);
    vec_free(&v->cells);
    vec_free(&v->rows);
    free(v);
}

void view_columns(struct view *v, const char *titles)
{
    while (*titles) {
        size_t length = strcspn(titles, " ");
        char *title = mem_array(char, length + 1);

        memcpy(title, titles, length);
        vec_push(&v->titles, title);
        titles += length;
        titles += strspn(titles, " ");
    }
}

void view_row(struct view *v)
{
    vec_push(&v->rows, v->cells.count);
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

static size_t row_end(const struct view *v, size_t row)
{
    return row + 1 < v->rows.count ? v->rows.items[row + 1] : v->cells.count;
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
    for (size_t i = 0; i < v->titles.count; i++)
        printf("%s%s", i ? "|" : "", v->titles.items[i] + (*v->titles.items[i] == '>'));
    putchar('\n');
    for (size_t r = 0; r < v->rows.count; r++) {
        for (size_t i = v->rows.items[r]; i < row_end(v, r); i++) {
            if (i > v->rows.items[r])
                putchar('|');
            print_escaped(v->cells.items[i].text);
        }
        putchar('\n');
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
    vec_each (char *, title, &v->titles)
        table_column(t, *title + (**title == '>'),
                     **title == '>' ? TABLE_RIGHT : TABLE_LEFT);
    for (size_t r = 0; r < v->rows.count; r++) {
        table_row(t);
        for (size_t i = v->rows.items[r]; i < row_end(v, r); i++) {
            table_cell(t, v->cells.items[i].text);
            table_mark(t, v->cells.items[i].colour);
        }
    }
    rc = table_print(t, stdout, err);
    table_destroy(t);
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
