/* report_spool.h - reports that wait for a daemon which cannot be reached
 *
 * In order, numbered from 1, and bounded: when it is full the oldest go, and the numbers
 * that follow show how many.  What waits is also in a file, so that it can be delivered
 * by somebody else when this process is killed: DIR/RUN.spool, of this user alone,
 * because the job's token is in it.  Lines of the file are
 *
 *     {"version":1,"daemon":...,"ca":...,"token":...,"job":...,"run":...,...}
 *     NUMBER REPORT
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_SPOOL_MOST      20000 /* reports; at one a second five hours and a half */
#define REPORT_SPOOL_MAX_BYTES ((size_t)64 << 20) /* of a file that is read */
#define REPORT_RUN_DIGITS      32

/* Where reports of one run go, and whose they are.  Texts are owned. */
struct report_origin {
    char *daemon;   /* https://host:8421 */
    char *ca;       /* PEM file, whom to trust; NULL: the system's */
    char *token;    /* of the job */
    uint64_t job;   /* 0: the daemon knows by the token and slurm_job */
    bool whole;     /* its command is all of the job */
    double began_s; /* the run, monotonic; 0: nobody knows any more */
    char run[REPORT_RUN_DIGITS + 1];
    char *node;
    int rank;
    char *slurm_job; /* NULL: none */
    char *gpus;      /* UUIDs, comma between; NULL: not known */
};

void report_origin_fini(struct report_origin *origin);

struct report_spool;

/* The origin is copied.  dir NULL, or one that cannot be made or is not of this user
 * alone: in memory only. */
struct report_spool *report_spool_create(const struct report_origin *origin,
                                         const char *dir);
/* Whatever waits stays in the file; an empty one goes. */
void report_spool_destroy(struct report_spool *spool); /* NULL is fine */

const struct report_origin *report_spool_origin(const struct report_spool *spool);

void report_spool_put(struct report_spool *spool, const char *line);

size_t report_spool_count(const struct report_spool *spool);
/* The oldest that waits, and those behind it; NULL: there are not so many. */
const char *report_spool_line(const struct report_spool *spool, size_t index);
uint64_t report_spool_first(const struct report_spool *spool); /* number of the oldest */

/* All before this number have been delivered. */
void report_spool_delivered(struct report_spool *spool, uint64_t next);

/* A file that another process has left; NULL with ERR_EXISTS while that one lives, with
 * ERR_FORMAT when it is none of ours, damaged behind its first line is cut off there. */
struct report_spool *report_spool_open(const char *path, struct err *err);

/* The names of such files in the folder, to be opened one by one; the caller frees each
 * and the list, which ends with NULL. */
char **report_spool_list(const char *dir);

/* ---- tokens of jobs -----------------------------------------------------------------
 */

#define REPORT_TOKEN_VARIABLE "CORGI_JOB_TOKEN"

/* From the file, or without one from the environment; the caller clears and frees it. */
int report_token_read(const char *file, char **token, struct err *err);

/* corgi-job-ID-...: whose it is, is part of it.  0: only the daemon knows, see
 * base/slurm_token.h. */
int report_token_job(const char *token, uint64_t *job, struct err *err);

/* 32 random hex digits. */
int report_run_make(char run[REPORT_RUN_DIGITS + 1], struct err *err);
