/* view.h - answers of the daemon as columns, and figures as people read them
 *
 * A table of columns says which members of a row are shown, and how:
 *
 *     static const struct view_column columns[] = {
 *         {">JOB", .key = "id", .as = VIEW_COUNT}, {"NAME", .key = "name"}, {">RATE",
 * "rate.value", VIEW_RATE},
 *         {"WHERE", .add = add_place}, {0}};
 *     struct view *v = view_create(columns);
 *
 *     view_rows(v, json_value_get(root, "jobs"), NULL);
 *     rc = view_print(v, args->parsable, &err);
 *     view_destroy(v); */
#ifndef CORGI_CORGI_VIEW_H
#define CORGI_CORGI_VIEW_H

#include "base/err.h"
#include "base/json.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

struct view;

/* What is not there is "-" in every column. */
enum view_as {
    VIEW_TEXT,
    VIEW_COUNT,  /* 17 */
    VIEW_RATE,   /* 41.5 */
    VIEW_JOULES, /* 950 J, 12.3 Wh, 1.25 kWh */
    VIEW_WATTS,  /* 250 W, 1.25 kW */
    VIEW_TIME,   /* 2026-03-01T09:00:00 */
    VIEW_SHARE,  /* 0.8: 80% */
    VIEW_YES_NO,
    VIEW_USE, /* 3/8, of a limit; 3/- without one */
};

struct view_column {
    const char *title; /* behind a '>' it is right-aligned; NULL ends the table */
    const char *key;   /* a member of the row; "rate.value" is one of the member rate, and
                          "^name" one of the object that ctx is */
    const char *limit; /* of VIEW_USE: the member with the limit */
    enum view_as as;
    /* Instead of a key: adds the cell with view_cell() or view_cellf(). */
    void (*add)(struct view *v, const struct json_value *row, const void *ctx);
};

struct view *view_create(const struct view_column *columns);
void view_destroy(struct view *v); /* NULL is fine */

/* One row, or one for each item of a list; ctx is for add(). */
void view_row(struct view *v, const struct json_value *row, const void *ctx);
void view_rows(struct view *v, const struct json_value *list, const void *ctx);
size_t view_row_count(const struct view *v);

void view_cell(struct view *v, const char *text); /* NULL or "": "-" */
void view_cellf(struct view *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void view_mark(struct view *v, enum table_colour colour); /* the newest cell */

/* Aligned; or with | between and \ before a | or \ that belongs to a cell. */
int view_print(const struct view *v, bool parsable, struct err *err);

/* The plain members of an object, a row for each; objects and lists in it are left out.
 */
int view_print_members(const struct json_value *object, bool parsable, struct err *err);

/* ---- figures, into a buffer of VIEW_SIZE; "-" for what is not finite --------------- */

#define VIEW_SIZE 40

const char *view_rate(char *out, double per_s);
const char *view_joules(char *out, double joules);
const char *view_watts(char *out, double watts);
const char *view_elapsed(char *out, double seconds); /* 1-02:03:04 */
const char *view_time(char *out, double since_1970_s);

/* ---- members of an answer ---------------------------------------------------------- */

const char *view_text(const struct json_value *object, const char *key); /* NULL: none */
const char *view_text_or(const struct json_value *object, const char *key,
                         const char *instead);
double view_number(const struct json_value *object, const char *key); /* NaN: none */
bool view_flag(const struct json_value *object, const char *key);

#endif
