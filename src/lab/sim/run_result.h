/* run_result.h - a sweep as a table, as JSON, as CSV files */
#pragma once

#include "base/str.h"
#include "base/table.h"
#include "lab/sim/sweep.h"

/* For people: one line a row, the least energy at a kept promise marked. */
struct table *result_table(const struct sweep *sweep);

/* For programs; docs/json.md lists the keys.  Times the machine took are left out (null)
 * unless asked for: they differ from run to run, and everything else must not. */
void result_json(const struct sweep *sweep, const struct sweep_options *options,
                 bool timings, struct str *out);

/* What became of each request of each run. */
struct table *result_jobs(const struct sweep *sweep);

/* sim.json, rows.csv, jobs.csv and the page as report.html in a directory that is made
 * when it is not there; all of them or, when the disk is full, none. */
int result_write(const struct sweep *sweep, const struct sweep_options *options,
                 const char *page, const char *dir, struct err *err);
