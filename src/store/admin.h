/* admin.h - upkeep: retention inside the daemon; check, backup and export beside it */
#pragma once

#include "store/store.h"

#include <stdio.h>

/* How long rows stay, in seconds; 0: for ever.  What is usual stands in the daemon's
 * configuration. */
struct store_retention {
    double telemetry_s; /* raw measurements and power, then folded into hours */
    double hours_s;     /* hours of telemetry, then removed; hours of energy, then folded
                           into days, which stay */
    double jobs_s;      /* after their end, with their history */
    double events_s;
    double audit_s;
    int models; /* checkpoints of each name; 0: 3 */
};

/* Start removing and folding what is too old at now_s, in small steps between commits;
 * done as in store_commit().  ERR_BUSY while one is under way.  Call it every ten minutes
 * or so. */
int store_retain(struct store *store, const struct store_retention *retention,
                 double now_s, store_done done, void *ctx, struct err *err);

/* What is wrong with a store, a sentence each. */
typedef void (*store_finding)(void *ctx, const char *sentence);

struct store_check_result {
    int schema;
    uint64_t jobs, transitions, events, measurements;
    int findings;
};

/* Reads only, a daemon may run.  -1 when it cannot be read at all; findings are no error.
 * quick leaves out SQLite's page by page check of a large store. */
int store_check(const char *path, bool quick, store_finding finding, void *ctx,
                struct store_check_result *result, struct err *err);

/* A copy of the whole store as it is at one moment, while the daemon goes on writing.
 * ERR_EXISTS when `to` exists, unless replace. */
int store_backup(const char *path, const char *to, bool replace, struct err *err);

enum store_format { STORE_JSON_LINES, STORE_CSV };

struct store_export_options {
    const char *table; /* its name in the schema */
    enum store_format format;
    bool secrets; /* environments of jobs too; never digests of tokens */
};

int store_export(const char *path, const struct store_export_options *options, FILE *out,
                 uint64_t *rows, struct err *err);
