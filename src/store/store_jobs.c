/* store_jobs.c - see store_jobs.h: writing jobs, and copies of them */
#include "store/store_jobs.h"

#include "base/mem.h"
#include "loop/requirement.h"
#include "store/batch.h"
#include "store/job_columns.h"
#include "store/names.h"

#include <stdlib.h>
#include <string.h>

static const char missing[] = "there is no such job in the store";

static void add_descriptor(struct store_batch *batch, const struct job_descriptor *d)
{
    batch_text(batch, d->family);
    batch_text(batch, model_kind_name(d->model));
    batch_int(batch, d->batch);
    batch_real(batch, d->gmac_per_sample);
    batch_real(batch, d->params_millions);
    batch_real(batch, d->memory_mb_per_sample);
}

static void add_need(struct store_batch *batch, const struct requirement *need)
{
    batch_text(batch, requirement_kind_name(need->kind));
    batch_real(batch, need->rate);
    batch_real(batch, need->latency_s);
    batch_real(batch, need->deadline_s);
    batch_real(batch, need->confidence);
}

static void add_launch(struct store_batch *batch, const struct store_request *r)
{
    batch_text(batch, r->directory);
    batch_words(batch, r->argv);
    batch_words(batch, r->env);
    batch_text(batch, r->output);
    batch_text(batch, r->metrics_url);
    batch_text(batch, r->metrics_counter);
    batch_text(batch, r->progress_file);
    batch_real(batch, r->stop_grace_s);
    batch_int(batch, r->checkpoint_signal);
    batch_text(batch, r->extra);
}

/* In the order of JOB_REQUEST_COLUMNS. */
static void add_request(struct store_batch *batch, const struct store_request *r)
{
    const struct job *job = &r->job;

    batch_text(batch, job->name);
    batch_int(batch, job->owner);
    batch_text_or(batch, r->user, "");
    batch_int(batch, r->uid);
    batch_int(batch, r->gid);
    batch_text(batch, names_kind(job->kind));
    add_descriptor(batch, &job->descriptor);
    add_need(batch, &job->need);
    batch_real(batch, job->submitted_s);
    batch_real(batch, job->total_steps);
    batch_real(batch, job->duration_s);
    batch_int(batch, job->devices);
    batch_real(batch, job->memory_gb);
    batch_int(batch, job->priority);
    batch_text_or(batch, r->types, "");
    batch_bool(batch, job->may_share);
    batch_bool(batch, job->may_move);
    add_launch(batch, r);
}

/* In the order of JOB_PROGRESS_COLUMNS. */
static void add_progress(struct store_batch *batch, const struct store_progress *p)
{
    batch_text(batch, names_state(p->state));
    batch_bool(batch, p->held);
    batch_int(batch, p->attempt);
    batch_real(batch, p->started_s);
    batch_real(batch, p->placed_s);
    batch_real(batch, p->ended_s);
    batch_real(batch, p->steps_done);
    batch_real(batch, p->required_rate);
    batch_int(batch, p->moves);
    batch_int(batch, p->restarts);
    batch_int(batch, p->exit_status);
    batch_int(batch, p->signal);
    batch_text_or(batch, p->devices, "");
    batch_text(batch, p->reason);
    batch_text(batch, p->extra);
}

void store_put_job(struct store_batch *batch, const struct store_request *request,
                   const struct store_progress *progress)
{
    static const char sql[] =
        "INSERT INTO jobs (id, " JOB_REQUEST_COLUMNS ", " JOB_PROGRESS_COLUMNS
        ", key, digest) VALUES (?, " JOB_FIFTEEN ", " JOB_FIFTEEN ", " JOB_FIVE
        ", ?, " JOB_FIFTEEN ", ?, ?)";

    batch_statement(batch, sql, NULL);
    batch_u64(batch, request->job.id);
    add_request(batch, request);
    add_progress(batch, progress);
    batch_text(batch, request->key);
    if (request->key)
        batch_blob(batch, request->digest, sizeof(request->digest));
    else
        batch_null(batch);
}

void store_update_request(struct store_batch *batch, const struct store_request *request)
{
    static const char sql[] =
        "UPDATE jobs SET (" JOB_REQUEST_COLUMNS ") = (?2, " JOB_FIFTEEN ", " JOB_FIFTEEN
        ", " JOB_FIVE ") WHERE id = ?1";

    batch_statement(batch, sql, missing);
    batch_u64(batch, request->job.id);
    add_request(batch, request);
}

void store_update_progress(struct store_batch *batch, uint64_t job,
                           const struct store_progress *progress)
{
    static const char sql[] =
        "UPDATE jobs SET (" JOB_PROGRESS_COLUMNS ") = (?2, ?, ?, ?, ?, " JOB_FIVE
        ", " JOB_FIVE ") WHERE id = ?1";

    batch_statement(batch, sql, missing);
    batch_u64(batch, job);
    add_progress(batch, progress);
}

/* ---- copies ------------------------------------------------------------------------ */

/* A copy is one block: the struct, lists of words, then all text. */
struct packer {
    const char **words; /* where the next list goes */
    char *text;         /* where the next text goes */
};

static void measure_words(const char *const *words, size_t *pointers, size_t *bytes)
{
    if (!words)
        return;
    for (; *words; words++) {
        ++*pointers;
        *bytes += strlen(*words) + 1;
    }
    ++*pointers;
}

static const char *pack_text(struct packer *to, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = to->text;

    if (!text)
        return NULL;
    memcpy(copy, text, size);
    to->text += size;
    return copy;
}

static const char *const *pack_words(struct packer *to, const char *const *words)
{
    const char **copy = to->words;

    if (!words)
        return NULL;
    for (; *words; words++)
        *to->words++ = pack_text(to, *words);
    *to->words++ = NULL;
    return copy;
}

struct store_job *store_job_dup(const struct store_job *job)
{
    struct store_job *block;
    struct store_job copy = *job;
    const char **texts[] = {
        &copy.request.types,         &copy.request.user,
        &copy.request.directory,     &copy.request.output,
        &copy.request.metrics_url,   &copy.request.metrics_counter,
        &copy.request.progress_file, &copy.request.key,
        &copy.request.extra,         &copy.progress.devices,
        &copy.progress.reason,       &copy.progress.extra,
    };
    size_t pointers = 0, bytes = 0;
    struct packer to;

    measure_words(job->request.argv, &pointers, &bytes);
    measure_words(job->request.env, &pointers, &bytes);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bytes += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    block = mem_zeroed(1, sizeof(*block) + pointers * sizeof(char *) + bytes);
    to.words = (const char **)(block + 1);
    to.text = (char *)(to.words + pointers);
    copy.request.argv = pack_words(&to, job->request.argv);
    copy.request.env = pack_words(&to, job->request.env);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = pack_text(&to, *texts[i]);
    *block = copy;
    return block;
}

void store_job_destroy(struct store_job *job)
{
    free(job); /* one block */
}
