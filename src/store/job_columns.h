/* job_columns.h - the columns of table jobs, in the order they are written and read
 *
 * Internal to store_jobs.c, which writes them, and job_read.c, which reads them. */
#ifndef CORGI_STORE_JOB_COLUMNS_H
#define CORGI_STORE_JOB_COLUMNS_H

/* 36 */
#define JOB_REQUEST_COLUMNS                                                              \
    "name, owner, user, uid, gid, kind, family, model, batch, gmac_per_sample,"          \
    " params_millions, memory_mb_per_sample, need, rate, latency_s, deadline_s,"         \
    " confidence, submitted_s, total_steps, duration_s, devices_wanted, memory_gb,"      \
    " priority, types, may_share, may_move, directory, argv, env, output, metrics_url,"  \
    " metrics_counter, progress_file, stop_grace_s, checkpoint_signal, extra"
/* 15 */
#define JOB_PROGRESS_COLUMNS                                                             \
    "state, held, attempt, started_s, placed_s, ended_s, steps_done, required_rate,"     \
    " moves, restarts, exit_status, signal, devices, reason, progress_extra"

#define JOB_FIVE    "?, ?, ?, ?, ?"
#define JOB_FIFTEEN JOB_FIVE ", " JOB_FIVE ", " JOB_FIVE

#endif
