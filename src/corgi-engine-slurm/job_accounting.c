/* job_accounting.c - see job_accounting.h; job_completions.c asks
 *
 * One question at a time: a slurmdbd that hangs would else take all worker threads of
 * helper_server.c, and orders would wait behind it. */
#include "corgi-engine-slurm/job_accounting.h"

#include "base/str.h"
#include "base/vec.h"
#include "corgi-engine-slurm/slurm_words.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* What slurmdbd calls a job whose end came to it before its start did. */
#define NOT_YET_NAMED "allocation"
/* A question takes a tenth of a second; who has waited so long is told that it is busy.
 */
#define TURN_S 2

typedef vec_of(struct slurm_accounted) record_list;

/* ---- the question ------------------------------------------------------------------ */

/* "25", or of an array "25_2". */
static slurm_selected_step_t step_of(const char *job)
{
    const char *element = strchr(job, '_');

    return (slurm_selected_step_t){
        .array_task_id = element ? (uint32_t)strtoul(element + 1, NULL, 10) : NO_VAL,
        .het_job_offset = NO_VAL,
        .step_id = {.job_id = (uint32_t)strtoul(job, NULL, 10),
                    .step_id = NO_VAL,
                    .step_het_comp = NO_VAL}};
}

/* All records of the number, whoever had it and however often it was queued again. */
static List ask(void *connection, slurm_selected_step_t *step)
{
    slurmdb_job_cond_t condition = {.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP |
                                             JOBCOND_FLAG_NO_TRUNC,
                                    .db_flags = SLURMDB_JOB_FLAG_NOTSET,
                                    .step_list = slurm_list_create(NULL)};
    List records;

    slurm_list_append(condition.step_list, step);
    errno = 0;
    records = slurmdb_jobs_get(connection, &condition);
    slurm_list_destroy(condition.step_list);
    return records;
}

/* ---- records ----------------------------------------------------------------------- */

/* In capitals, as jobcomp/filetxt writes it. */
static void copy_state(uint32_t state, char *to, size_t size)
{
    str_copy(to, size, slurm_words_job(state));
    for (; *to; to++)
        *to = (char)toupper((unsigned char)*to);
}

static struct slurm_accounted read_record(const slurmdb_job_rec_t *r)
{
    struct slurm_accounted a = {.submit_s = (double)r->submit,
                                .queued_again =
                                    (r->state & (JOB_REQUEUE | JOB_REQUEUE_HOLD)) != 0};
    int status = (int)r->exitcode;

    a.job.uid = r->uid;
    if (r->jobname && strcmp(r->jobname, NOT_YET_NAMED) != 0)
        str_copy(a.job.name, sizeof(a.job.name), r->jobname);
    copy_state(r->state, a.job.state, sizeof(a.job.state));
    a.job.start_s = (double)r->start;
    a.job.end_s = (double)r->end;
    a.job.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    a.job.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    slurm_mark_digest(r->admin_comment, a.digest);
    return a;
}

static void read_records(List records, record_list *list)
{
    ListIterator at = slurm_list_iterator_create(records);
    const slurmdb_job_rec_t *r;

    while ((r = slurm_list_next(at)))
        vec_push(list, read_record(r));
    slurm_list_iterator_destroy(at);
    slurm_list_destroy(records);
}

static int load(const char *job, record_list *list, struct err *err)
{
    uint16_t flags = 0;
    slurm_selected_step_t step = step_of(job);
    void *connection = slurmdb_connection_get(&flags);
    List records = connection ? ask(connection, &step) : NULL;
    int number = errno;

    if (records)
        read_records(records, list);
    if (connection)
        slurmdb_connection_close(&connection);
    return records ? 0
                   : err_set(err, ERR_SYSTEM, "slurmdbd does not answer: %s",
                             number ? slurm_strerror(number) : "it gave no reason");
}

int job_accounting_find(const struct json_value *request, struct slurm_completion *found,
                        struct err *err)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* question at a time */
    const struct slurm_accounted *best;
    record_list list = {0};
    struct timespec until;
    int rc;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TURN_S;
    if (pthread_mutex_timedlock(&one, &until) != 0)
        return err_set(err, ERR_BUSY, "slurmdbd has not answered another question yet");
    rc = load(json_member_string(request, "job"), &list, err);
    pthread_mutex_unlock(&one);
    best = slurm_accounted_find(
        list.items, list.count, json_member_number(request, "since_s", 0),
        json_member_number(request, "submit_s", 0), json_member_string(request, "mark"));
    if (best) {
        *found = best->job;
        found->marked = best->digest[0] && json_member_string(request, "mark");
    }
    vec_free(&list);
    return rc < 0 ? -1 : best != NULL;
}
