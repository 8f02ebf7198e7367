/* job_digests.h - by which tokens that somebody else made jobs are known
 *
 * job_submit_corgi gives each of Slurm's jobs a random token, and writes its SHA-256
 * where only operators of Slurm can write.  A probe that shows the token speaks for the
 * job that has the digest; elements of an array have one token together and are told
 * apart by their names.  A job that has ended is remembered for a while: reports may come
 * late. */
#pragma once

#include "http/auth.h"

struct records;
struct job_digests;

struct job_digests *job_digests_create(void);
void job_digests_destroy(struct job_digests *digests); /* NULL is fine */

/* hex: the digest in 64 digits, else nothing is kept; ref: the job's name is what stands
 * before '@' or '#'. */
void job_digests_put(struct job_digests *digests, const char *hex, const char *ref,
                     uint64_t job);

/* Does a job have it? */
bool job_digests_known(const struct job_digests *digests,
                       const unsigned char digest[AUTH_DIGEST_BYTES]);

/* The job of this digest and name; 0: none. */
uint64_t job_digests_job(const struct job_digests *digests,
                         const unsigned char digest[AUTH_DIGEST_BYTES], const char *name);

/* Forget jobs that have not been among the records for JOB_DIGESTS_KEEP_S. */
#define JOB_DIGESTS_KEEP_S 86400.0
void job_digests_tidy(struct job_digests *digests, const struct records *records,
                      double now_s);
