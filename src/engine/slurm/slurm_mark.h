/* slurm_mark.h - our words in the admin comment of Slurm's jobs
 *
 *     corgi1:DIGEST:JSON
 *
 * job_submit_corgi writes them as a job is handed in, behind whatever others wrote there,
 * and the engine reads them.  DIGEST is the SHA-256 of the job's token in hex; JSON,
 * which goes to the end, is the JobRequest of the API without what runs. */
#pragma once

#include <string.h>

#define SLURM_MARK "corgi1:"

/* What the job asks for, borrowed from the comment; NULL: nothing of ours is there. */
static inline const char *slurm_mark_request(const char *admin_comment)
{
    const char *ours = admin_comment ? strstr(admin_comment, SLURM_MARK) : NULL;

    ours = ours ? strchr(ours + strlen(SLURM_MARK), ':') : NULL;
    return ours ? ours + 1 : NULL;
}
