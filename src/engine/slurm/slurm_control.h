/* slurm_control.h - Slurm's jobs that Corgi places, from their hold to their end
 *
 * A job is ours when it waits on hold in a managed partition with our mark in its admin
 * comment (slurm_mark.h): users hand it in and job_submit_corgi marks it, or the daemon
 * hands it in itself.  It is known by what Slurm calls it and by the mark: a slurmctld
 * that was killed gives numbers again.
 *
 * Whatever is to be done goes to the helper as one order a job at a time.  What an order
 * came to is not believed before a look that began after it: rows are noted as they come
 * and judged when a look is complete.  A job that somebody else releases, or takes the
 * mark off, is let go: it is watched from then on, as all others are. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "engine/slurm/slurm_answers.h"

#define SLURM_NODE_TAG 0 /* of orders for nodes; jobs have their numbers */

struct helper_link;
struct slurm_control;
struct slurm_job_table;
struct slurm_node_table;

struct slurm_control_options {
    const char *partitions; /* with commas between; the first takes what we hand in */
    double start_s;         /* a job that was released and has not begun by then is held
                               again */
    bool sharing; /* jobs are handed in without GPUs, and get them or shards at the start
                   */
    const char *state_dir;                  /* keeps who we are; NULL: nobody remembers */
    const char *probe, *report, *report_ca; /* as in slurm_engine_options; borrowed */
};

/* Nodes, the line and the table of those only watched are borrowed. */
struct slurm_control *slurm_control_create(const struct slurm_control_options *options,
                                           struct slurm_node_table *nodes,
                                           struct slurm_job_table *watched,
                                           struct helper_link *link,
                                           struct engine_sink sink);
void slurm_control_destroy(struct slurm_control *control); /* NULL is fine */

/* As the operations of an engine. */
int slurm_control_enter(struct slurm_control *control, const struct engine_job *job,
                        struct err *err);
int slurm_control_leave(struct slurm_control *control, uint64_t job);
int slurm_control_start(struct slurm_control *control, const struct engine_job *job,
                        struct err *err);
int slurm_control_stop(struct slurm_control *control, uint64_t job, enum engine_stop how,
                       struct err *err);
int slurm_control_adopt(struct slurm_control *control, const struct engine_job *job,
                        struct err *err);

/* For the table of those only watched: see slurm_row_keeper. */
bool slurm_control_take(void *control, const struct slurm_job_row *row, double now_s);
void slurm_control_gone(void *control, const char *id);
void slurm_control_anew(void *control);
void slurm_control_looked(void *control, double now_s);

/* The helper's answer to an order, as helper_link_sink tells it; and the line went down:
 * nobody knows what became of those under way. */
void slurm_control_ordered(struct slurm_control *control, uint64_t tag,
                           const struct json_value *answer, const char *code,
                           const char *error, double now_s);
void slurm_control_down(struct slurm_control *control);

/* KillWait and MinJobAge of slurm.conf, and when slurmctld began; nothing is started
 * before this is known. */
void slurm_control_conf(struct slurm_control *control, double kill_wait_s,
                        double min_job_age_s, double boot_s);

/* Is it to be told again, as slurmctld may be another one than it was? */
bool slurm_control_asks_conf(const struct slurm_control *control);

/* Why nothing may be changed in Slurm now; NULL: it may. */
const char *slurm_control_denied(const struct slurm_control *control, double now_s);

/* Send what is due, as far as the line takes it; when it is to be called again at the
 * latest. */
double slurm_control_advance(struct slurm_control *control, double now_s);
