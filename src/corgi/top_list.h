/* top_list.h - the rows of corgi top: GPUs or jobs, filtered, sorted, and where the keys
 * are
 *
 * Rows point into the daemon's answer, which must stay as long as they do. */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct top_column; /* of the table of its kind */

struct top_row {
    const struct json_value *value;
    struct str sorted_by; /* text of the column it is sorted by; empty for numbers */
    double number;
};

struct top_list {
    const struct top_column *columns;
    vec_of(struct top_row) rows; /* those the filter leaves, sorted */
    int sort;                    /* column */
    bool backwards;
    size_t chosen, first; /* row of the keys, and the topmost on the screen */
    int page;             /* rows it had on the screen last */
};

extern const struct top_column *const top_job_columns, *const top_device_columns;

void top_list_clear(struct top_list *l); /* no rows; the rest stays */
void top_list_fini(struct top_list *l);

/* Rows come one by one, those in which a cell has the filter's text ("": any); then they
 * are sorted. */
void top_list_add(struct top_list *l, const struct json_value *row, const char *filter);
void top_list_sort(struct top_list *l);

void top_list_move(struct top_list *l, long by);         /* the row of the keys */
void top_list_next_column(struct top_list *l, int wide); /* to be sorted by */

/* Where a cell stands on a terminal that wide, and what is in it; row NULL: the title.
 * Begin with cell->column 0 and x 0; false behind the last. */
struct top_cell {
    int column, x, width;
    bool right;
    struct str text;
};
bool top_list_cell(const struct top_list *l, const struct json_value *row, int wide,
                   struct top_cell *cell);

/* The places of a job with commas between, else why it has none. */
void top_list_add_where(struct str *out, const struct json_value *job);
