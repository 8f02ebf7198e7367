/* slurm_job_table.h - Slurm's jobs, and what of them the daemon has been told
 *
 * Each look of the helper brings the jobs that changed; what follows is told to the sink
 * as found, changed, started and ended.  A job is known by what Slurm calls it and when
 * it was submitted: a slurmctld that was killed forgets its last jobs and gives their
 * numbers to others.  Slurm's own requeue changes the time of submission but counts the
 * restart.  An end that was told stays: what Slurm shows of such a job afterwards is
 * passed over. */
#pragma once

#include "engine/engine.h"
#include "engine/slurm/slurm_answers.h"

struct slurm_job_table;
struct slurm_node_table;

struct slurm_job_table *slurm_job_table_create(struct slurm_node_table *nodes,
                                               struct engine_sink sink);
void slurm_job_table_destroy(struct slurm_job_table *table); /* NULL is fine */

/* After a restart: the daemon has this job, which waits or runs; see engine_ops.adopt. */
void slurm_job_table_adopt(struct slurm_job_table *table, const struct engine_job *job);

/* Somebody else has a first look at all rows, and keeps those of jobs that we place: what
 * all others have takes room then. */
struct slurm_row_keeper {
    bool (*take)(void *ctx, const struct slurm_job_row *row, double now_s);
    void (*gone)(void *ctx, const char *id);
    void (*anew)(void *ctx);                 /* all rows follow */
    void (*looked)(void *ctx, double now_s); /* the look is complete */
    void *ctx;                               /* NULL: there is nobody */
};
bool slurm_job_table_watches(const struct slurm_job_table *table, const char *id);
void slurm_job_table_set_keeper(struct slurm_job_table *table,
                                struct slurm_row_keeper keeper);

/* This job, which the daemon knows, is only watched from now on. */
void slurm_job_table_watch(struct slurm_job_table *table, uint64_t job,
                           const struct slurm_job_row *row, double now_s);

/* An answer of the helper to `jobs`. */
void slurm_job_table_take(struct slurm_job_table *table, const struct json_value *answer,
                          double now_s);

struct slurm_job_counts {
    int waiting, running;
};
struct slurm_job_counts slurm_job_table_counts(const struct slurm_job_table *table);

/* "ID@SUBMITTED+RESTARTS", as a ref is written and read; false: it is none. */
void slurm_job_ref(char *text, size_t size, const char *id, double submit_s,
                   int restarts);
bool slurm_job_ref_read(const char *text, char id[SLURM_ID_SIZE], double *submit_s,
                        int *restarts);
