/* report_gains.h - who gains and who loses, as a table of the page
 *
 * The page has one by kind of request, against the reference; `corgi advise` puts one by
 * user before it, against what really ran. */
#pragma once

#include "base/str.h"
#include "lab/report/facts.h"
#include "lab/sim/gains.h"

/* The table up to its first row, whose groups are `what`; rows; and its end. */
void report_gains_begin(struct str *out, const char *what, const char *caption);
void report_gains_rows(struct str *out, const struct gains_group *groups, size_t count);
void report_gains_end(struct str *out);

/* Kinds of request at each load, Corgi against the reference; false: there is no load
 * with both.  out NULL: only whether there is. */
bool report_gains(struct str *out, const struct facts *facts);
