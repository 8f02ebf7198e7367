/* slurm_mark.h - our words in the admin comment of Slurm's jobs
 *
 *     corgi1:DIGEST:JSON
 *     corgi1:DIGEST.ATTEMPT:JSON
 *
 * job_submit_corgi writes them as a job is handed in, behind whatever others wrote there,
 * and the engine reads them.  DIGEST, 64 hex digits, is the SHA-256 of the job's token;
 * of a job that the daemon handed in it is the daemon's own identity and the job's
 * number. ATTEMPT is written when the job is placed.  JSON, one object, is the JobRequest
 * of the API without what runs.  A job without the mark is not ours to place. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <string.h>

#define SLURM_MARK        "corgi1:"
#define SLURM_DIGEST_SIZE 65
#define SLURM_MARK_MOST   1024 /* bytes of a comment that slurmctld takes */

/* What the job asks for, borrowed from the comment; NULL: nothing of ours is there. */
static inline const char *slurm_mark_request(const char *admin_comment)
{
    const char *ours = admin_comment ? strstr(admin_comment, SLURM_MARK) : NULL;

    ours = ours ? strchr(ours + strlen(SLURM_MARK), ':') : NULL;
    return ours ? ours + 1 : NULL;
}

/* Where its digits begin in the comment, SLURM_DIGEST_SIZE - 1 of them; NULL: no mark. */
const char *slurm_mark_digits(const char *admin_comment);
/* False: no mark is there. */
bool slurm_mark_digest(const char *admin_comment, char digest[SLURM_DIGEST_SIZE]);

/* The same comment with this attempt in the mark; it must have one. */
void slurm_mark_attempt(const char *admin_comment, int attempt, struct str *out);

/* The attempt in the mark; 0: it was never placed, as far as Slurm knows. */
int slurm_mark_placed(const char *admin_comment);

/* How many GPUs it asks for by its mark: the plugin has taken them off what Slurm was
 * asked for, see Sharing in docs/slurm.md.  0: the mark does not say. */
int slurm_mark_gpus(const char *admin_comment);

/* The same comment without the mark: others' words alone. */
void slurm_mark_strip(const char *admin_comment, struct str *out);
