/* csv.h - tables with a header row, read a row at a time
 *
 *     struct csv *csv;
 *     if (csv_load(&csv, path, err) < 0)
 *         return -1;
 *     gpu = csv_column(csv, "gpu");
 *     while ((more = csv_next(csv, err)) > 0)
 *         use(csv_field(csv, gpu));
 *     csv_destroy(csv);
 *
 * Fields may be quoted ("a ""b"", c"), lines may end in CRLF, empty lines are passed over
 * and a byte-order mark is dropped.  Every row must have as many fields as the header.
 * Errors name file and line. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_MAX_BYTES  ((size_t)64 << 20)
#define CSV_MAX_LINE   ((size_t)64 << 10) /* bytes of one row */
#define CSV_MAX_FIELDS 256
#define CSV_MAX_ROWS   ((size_t)2000000)

struct csv;

/* The caller owns *csv; on failure it is untouched.  The header row has been read. */
int csv_load(struct csv **csv, const char *path, struct err *err);
void csv_destroy(struct csv *csv); /* NULL is fine */

/* Index of a header field, -1 when there is none; csv_need makes that an error. */
int csv_column(const struct csv *csv, const char *name);
int csv_need(const struct csv *csv, const char *name, int *column, struct err *err);

int csv_next(struct csv *csv, struct err *err); /* 1: a row, 0: the end, -1: an error */

/* Of the present row; borrowed until the next.  "" when column is -1. */
const char *csv_field(const struct csv *csv, int column);
size_t csv_line(const struct csv *csv); /* of the file, counted from 1 */

/* The field as a number within [min, max]; err names file, line and column. */
int csv_double(const struct csv *csv, int column, double min, double max, double *value,
               struct err *err);
int csv_int(const struct csv *csv, int column, int min, int max, int *value,
            struct err *err);

/* "FILE line N: sentence", for what the caller finds wrong with the row; returns -1. */
int csv_refuse(const struct csv *csv, struct err *err, enum err_code code,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
