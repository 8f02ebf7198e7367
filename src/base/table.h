/* table.h - rows and columns for people, the same rows as CSV for programs
 *
 *     struct table *t = table_create();
 *     table_column(t, "policy", TABLE_LEFT);
 *     table_column(t, "energy kWh", TABLE_RIGHT);
 *     table_row(t);
 *     table_cell(t, "corgi");
 *     table_cellf(t, "%.1f", kwh);
 *     table_mark(t, TABLE_GOOD);
 *     rc = table_print(t, stdout, &err);
 *     table_destroy(t);
 */
#ifndef CORGI_BASE_TABLE_H
#define CORGI_BASE_TABLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

struct table;

enum table_align { TABLE_LEFT, TABLE_RIGHT };
enum table_colour { TABLE_PLAIN, TABLE_GOOD, TABLE_BAD, TABLE_DIM, TABLE_STRONG };

struct table *table_create(void);
void table_destroy(struct table *t); /* NULL is fine */

void table_column(struct table *t, const char *title, enum table_align align);
/* The same for several, with | between; behind a '>' it is right-aligned. */
void table_columns(struct table *t, const char *titles);
void table_row(struct table *t); /* after the last column; what is not filled is empty */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void table_mark(struct table *t, enum table_colour colour); /* the newest cell */
size_t table_row_count(const struct table *t);

/* Aligned, as wide as it needs to be whatever the terminal.  Colours only on a terminal,
 * and not when NO_COLOR is set. */
int table_print(const struct table *t, FILE *out, struct err *err);

/* A line of titles, then the rows; cells quoted where they need to be. */
int table_print_csv(const struct table *t, FILE *out, struct err *err);

#endif
