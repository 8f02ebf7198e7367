/* view.h - answers of the daemon as columns and sentences, and figures as people read
 * them
 *
 * A table of columns says which members of a row are shown, and how:
 *
 *     static const struct view_column columns[] = {
 *         {">JOB", .key = "id", .as = VIEW_COUNT},
 *         {"NAME", .key = "name"},
 *         {">RATE", .key = "rate.value", .as = VIEW_RATE},
 *         {"WHERE", .add = add_place},
 *         {0},
 *     };
 *     struct table *t = view_table(columns);
 *
 *     view_rows(t, columns, json_value_get(root, "jobs"), NULL);
 *     rc = view_finish(t, args->parsable, &err);
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What is not there is "-" in every column. */
enum view_as {
    VIEW_TEXT,
    VIEW_COUNT,  /* 17 */
    VIEW_RATE,   /* 41.5 */
    VIEW_JOULES, /* 950 J, 12.3 Wh, 1.25 kWh */
    VIEW_WATTS,  /* 250 W, 1.25 kW */
    VIEW_TIME,   /* 2026-03-01T09:00:00+01:00, Z: UTC */
    VIEW_SHARE,  /* 0.8: 80% */
    VIEW_YES_NO,
    VIEW_USE, /* 3/8, of a limit; 3/- without one */
};

struct view_column {
    const char *title; /* as in table.h; NULL ends the table */
    const char *key;   /* a member of the row; "rate.value" is one of the member rate, and
                          "^name" one of the object that ctx is */
    const char *limit; /* of VIEW_USE: the member with the limit */
    enum view_as as;
    /* Instead of a key: adds the cell. */
    void (*add)(struct table *t, const struct json_value *row, const void *ctx);
};

struct table *view_table(const struct view_column *columns);

/* One row, or one for each item of a list; ctx is for add(). */
void view_row(struct table *t, const struct view_column *columns,
              const struct json_value *row, const void *ctx);
void view_rows(struct table *t, const struct view_column *columns,
               const struct json_value *list, const void *ctx);

void view_cell(struct table *t, const char *text); /* NULL or "": "-" */

/* Print it, aligned or with | between, and end it. */
int view_finish(struct table *t, bool parsable, struct err *err);

/* The plain members of an object, a row for each but those named; objects and lists in it
 * are left out.  without: ends with NULL, or NULL. */
struct table *view_table_of_members(const struct json_value *object,
                                    const char *const *without);

/* ---- figures, into a buffer of VIEW_SIZE; "-" for what is not finite --------------- */

#define VIEW_SIZE 40

const char *view_rate(char *out, double per_s);
const char *view_count(char *out, double count);                    /* 1,234,567 */
const char *view_plural(char *out, double count, const char *what); /* 2 GPUs */
const char *view_joules(char *out, double joules);
const char *view_watts(char *out, double watts);
const char *view_share(char *out, double share);     /* 0.8: 80% */
const char *view_elapsed(char *out, double seconds); /* 1-02:03:04 */
const char *view_time(char *out, double since_1970_s);

/* ---- members of an answer ---------------------------------------------------------- */

const char *view_text_or(const struct json_value *object, const char *key,
                         const char *instead);
double view_number(const struct json_value *object, const char *key); /* NaN: none */

/* A promise, or what is offered instead, in lines indented by two blanks; now_s is the
 * daemon's clock, NaN: not known.  The reason is left out where it has just been said. */
void view_quote(const struct json_value *quote, const char *unit, double now_s,
                bool with_reason, FILE *out);
