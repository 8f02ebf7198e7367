/* table.h - rows and columns for people, the same rows for programs
 *
 *     struct table *t = table_create("policy|>energy kWh");
 *
 *     table_row(t);
 *     table_cell(t, "corgi");
 *     table_cellf(t, "%.1f", kwh);
 *     table_mark(t, TABLE_GOOD);
 *     rc = table_finish(t, TABLE_ALIGNED, stdout, &err);
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct table;

enum table_colour { TABLE_PLAIN, TABLE_GOOD, TABLE_BAD, TABLE_DIM };

enum table_style {
    /* As wide as it needs to be, and nothing when there are no rows.  On a terminal that
     * is narrower optional columns are left out, and the words of the last column go on
     * below each other; no cell is ever cut.  Colours only on a terminal, and not when
     * NO_COLOR is set. */
    TABLE_ALIGNED,
    TABLE_CSV,      /* cells quoted where they need to be */
    TABLE_PARSABLE, /* with | between and \ before a | or \ that belongs to a cell */
};

/* Titles have | between; behind a '>' a column is right-aligned, behind a '?' (before the
 * '>') it is optional.  More columns may follow until the first row; 64 at most. */
struct table *table_create(const char *titles);
void table_destroy(struct table *t); /* without printing it */
void table_columns(struct table *t, const char *titles);

void table_row(struct table *t); /* what is not filled is empty */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void table_mark(struct table *t, enum table_colour colour); /* the newest cell */

/* Are colours wanted there: a terminal, and NO_COLOR not set? */
bool table_colours_wanted(FILE *out);

/* Print the titles and the rows, and end the table. */
int table_finish(struct table *t, enum table_style style, FILE *out, struct err *err);
