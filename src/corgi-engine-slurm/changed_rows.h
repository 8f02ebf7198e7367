/* changed_rows.h - a table of Slurm's as a client last heard of it, and what is new since
 *
 * libslurm gives a whole table whenever anything in it has changed.  A row is a key and
 * a JSON object; only rows whose text differs from the last time go to the client, and
 * keys that are gone.  A table belongs to one connection: a new one hears everything. */
#pragma once

#include "base/json_out.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct table_row {
    char *key;
    char *json;
};

struct table_rows {
    vec_of(struct table_row) list;
};

void rows_add_take(struct table_rows *rows, const char *key,
                   char *json); /* takes the text */
void rows_fini(struct table_rows *rows);

struct changed_rows;

struct changed_rows *changed_rows_create(void);
void changed_rows_destroy(struct changed_rows *table); /* NULL is fine */

/* The table as it is now; takes the rows, which are empty then.  A key that comes twice
 * counts once, as it comes first. */
void changed_rows_set(struct changed_rows *table, struct table_rows *rows);

/* Is there something the client has not heard? */
bool changed_rows_waiting(const struct changed_rows *table);

/* Write "fresh", "rows", "gone" and "more" into the open object: at most so many rows,
 * which then count as heard. */
void changed_rows_write(struct changed_rows *table, size_t most, struct json_out *out);
