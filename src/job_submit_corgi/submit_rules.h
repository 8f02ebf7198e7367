/* submit_rules.h - what becomes of a job that is handed in to Slurm
 *
 * plugin.c asks for every job that sbatch, srun or salloc brings to slurmctld and does
 * what the verdict says.  Pure: no Slurm, no files, no clock, no randomness; work and
 * memory are bounded by the script's length. */
#pragma once

#include "engine/slurm/slurm_mark.h"
#include "job_submit_corgi/submit_settings.h"

#define SUBMIT_MAX_COMMENT 1024 /* bytes that slurmctld takes */

struct submitted_job {
    const char *partition;     /* names with commas between; NULL: the default one */
    const char *script;        /* NULL: srun or salloc */
    const char *comment;       /* the user's; NULL: none */
    const char *admin_comment; /* what is there already; NULL: nothing */
    const char *gres;          /* it asks for on each node; NULL: none */
    int nodes;                 /* it asks for at least; 0: it does not say */
    const char *digest;        /* of the token it gets, if it is taken */
};

enum submit_fate {
    SUBMIT_PASS, /* not ours: nothing is touched */
    SUBMIT_TAKE,
    SUBMIT_REFUSE,
};

struct submit_verdict {
    enum submit_fate fate;
    bool hold;
    char *admin_comment; /* the new one, of a job that is taken */
    char *script;        /* the same under the probe; NULL: as it is */
    bool drop_gres;      /* the mark has it: Corgi says at the start what it gets */
    char *message;       /* one printable line for the user; NULL: nothing to say */
};

/* Ended with submit_verdict_fini(). */
struct submit_verdict submit_decide(const struct submit_settings *settings,
                                    const struct submitted_job *job);
void submit_verdict_fini(struct submit_verdict *verdict);
