/* slurm_source.h - what libslurm tells, as JSON
 *
 * The only files of Corgi that know libslurm: slurm_source.c, slurm_job_rows.c and
 * slurm_words.c.  Every call may block for a minute (a controller that does not answer, a
 * slurm.conf that cannot be read), so each runs on a worker thread; see helper_server.h.
 * libslurm ends the process when it finds no slurm.conf. */
#pragma once

#include "base/err.h"
#include "base/json_out.h"
#include "corgi-engine-slurm/changed_rows.h"

#include <time.h>

/* Before the first thread. */
void slurm_source_prepare(void);

/* libslurm has read slurm.conf, by the first call on any thread. */
void slurm_source_ready(void);

const char *slurm_source_version(void); /* of the library this was built with */

/* Members of the settings that matter, into the open object. */
int slurm_source_conf(struct json_out *out, struct err *err);

/* A table as it is; *since is the time of the last answer, 0 at first, and is updated.
 * Returns 1 when nothing has changed since, and adds nothing. */
typedef int slurm_source_table(struct table_rows *rows, time_t *since, struct err *err);

slurm_source_table slurm_source_nodes;
slurm_source_table slurm_source_partitions;
slurm_source_table slurm_source_reservations;
slurm_source_table slurm_source_jobs;
