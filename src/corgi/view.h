/* view.h - answers of the daemon as columns, and figures as people read them */
#ifndef CORGI_CORGI_VIEW_H
#define CORGI_CORGI_VIEW_H

#include "base/err.h"
#include "base/json.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

struct view;

struct view *view_create(void);
void view_destroy(struct view *v); /* NULL is fine */

/* Titles with blanks between; one that begins with '>' is right-aligned. */
void view_columns(struct view *v, const char *titles);
void view_row(struct view *v);
void view_cell(struct view *v, const char *text); /* NULL or "": "-" */
void view_cellf(struct view *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void view_mark(struct view *v, enum table_colour colour); /* the newest cell */

/* Aligned; or with | between and \ before a | or \ that belongs to a cell. */
int view_print(const struct view *v, bool parsable, struct err *err);

/* ---- figures, into a buffer of VIEW_SIZE; "-" for what is not finite --------------- */

#define VIEW_SIZE 40

const char *view_rate(char *out, double per_s);        /* 41.5 */
const char *view_joules(char *out, double joules);     /* 950 J, 12.3 Wh, 1.25 kWh */
const char *view_watts(char *out, double watts);       /* 250 W, 1.25 kW */
const char *view_elapsed(char *out, double seconds);   /* 1-02:03:04 */
const char *view_time(char *out, double since_1970_s); /* 2026-03-01T09:00:00 */

/* ---- members of an answer ---------------------------------------------------------- */

const char *view_text(const struct json_value *object, const char *key); /* NULL: none */
double view_number(const struct json_value *object, const char *key);    /* NaN: none */
bool view_flag(const struct json_value *object, const char *key);

#endif
