/* plugin.c - job_submit/corgi: slurmctld calls it for every job that is handed in
 *
 *     JobSubmitPlugins=corgi            in slurm.conf
 *     /etc/corgi/slurm-plugin.conf      what it may do, see submit_settings.h
 *
 * A job of a managed partition is marked with what it asks for and with the digest of a
 * token that only its processes have, and held until the daemon places it; a wrong #CORGI
 * line is refused in the user's terminal.  All others pass untouched.
 *
 * slurmctld holds its locks meanwhile, so nothing here waits: no network, one small file
 * that is read when it has changed.  Slurm keeps calls of submit plugins apart.
 *
 * Public headers only, and what those leave out: five functions that libslurm exports,
 * and the first members of slurmctld's record of a job. */
#include "job_submit_corgi/submit_rules.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/slurm_token.h"

#include <openssl/sha.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_FILE "/etc/corgi/slurm-plugin.conf"
#define TOKEN_BYTES   (SLURM_TOKEN_DIGITS / 2)
#define MAX_NODES     4096
#define TOKEN_NAME    "CORGI_JOB_TOKEN"
#define TOKEN_SIZE    (2 * TOKEN_BYTES + 1)

extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **memory);
extern void *slurm_xrecalloc(void **memory, size_t count, size_t size, bool clear,
                             bool forgiving, const char *file, int line,
                             const char *function);
extern void slurm_error(const char *format, ...);
extern void slurm_info(const char *format, ...);

/* How slurmctld's struct job_record begins, in every release from 17.11 on.  Slurm counts
 * a hold of this plugin as the user's own, so that job_modify() has to know ours. */
#define RECORD_MAGIC 0xf0b7392cu
struct record_head {
    uint32_t magic;
    const char *account, *admin_comment;
};

const char plugin_name[] = "Jobs that Corgi places";
const char plugin_type[] = "job_submit/corgi";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void);
void fini(void);
int job_submit(job_desc_msg_t *job, uint32_t uid, char **message);
int job_modify(job_desc_msg_t *change, void *job, uint32_t uid);

static struct submit_settings
    settings; /* slurmctld's lock of submit plugins guards these */
static struct timespec settings_time;

/* ---- settings ---------------------------------------------------------------------- */

/* Read the file when it is another one than last time.  Without it nothing is managed;
 * one that cannot be read leaves what was known, and slurmctld's log says why. */
static void refresh_settings(void)
{
    const char *path = getenv("CORGI_SLURM_PLUGIN_CONF"); /* of slurmctld: for tests */
    struct submit_settings read = {0};
    struct stat now = {0};
    struct err err = {0};
    char *text = NULL;
    size_t length;

    path = path ? path : SETTINGS_FILE;
    if (stat(path, &now) < 0)
        now.st_mtim = (struct timespec){0};
    if (memcmp(&now.st_mtim, &settings_time, sizeof(now.st_mtim)) == 0)
        return;
    settings_time = now.st_mtim;
    if (now.st_mtim.tv_sec == 0) {
        settings = read;
        slurm_info("job_submit/corgi: there is no %s any more: it manages nothing", path);
    } else if (file_read(path, SUBMIT_SETTINGS_BYTES, &text, &length, &err) < 0 ||
               submit_settings_parse(&read, text, length, path, &err) < 0) {
        slurm_error("job_submit/corgi: %s; it goes on as before", err.text);
    } else {
        settings = read;
        slurm_info("job_submit/corgi: manages the partitions '%s'%s", settings.partitions,
                   settings.hold ? "" : ", and holds no job");
    }
    free(text);
}

/* ---- what a job gets --------------------------------------------------------------- */

static void hex(char *to, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* A token of the job's own, and what may be told of it.  -1: the system has no
 * randomness now. */
static int make_token(char token[TOKEN_SIZE], char digest[2 * SHA256_DIGEST_LENGTH + 1])
{
    unsigned char bytes[TOKEN_BYTES], sum[SHA256_DIGEST_LENGTH];

    if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != sizeof(bytes))
        return -1;
    hex(token, bytes, sizeof(bytes));
    SHA256((const unsigned char *)token, 2 * TOKEN_BYTES, sum);
    hex(digest, sum, sizeof(sum));
    return 0;
}

static void replace(char **text, const char *with)
{
    slurm_xfree((void **)text);
    *text = slurm_xstrdup(with);
}

/* Into the environment of a batch job; srun and salloc have theirs on their own side. */
static void set_variable(job_desc_msg_t *job, const char *name, const char *value)
{
    char pair[32 + SUBMIT_MAX_REPORT];
    size_t length = strlen(name) + 1; /* with its '=' */

    if (!job->environment || job->env_size == 0 || !*value)
        return;
    snprintf(pair, sizeof(pair), "%s=%s", name, value);
    for (uint32_t i = 0; i < job->env_size; i++)
        if (job->environment[i] && strncmp(job->environment[i], pair, length) == 0) {
            replace(&job->environment[i], pair);
            return;
        }
    slurm_xrecalloc((void **)&job->environment, job->env_size + 2, sizeof(char *), true,
                    false, __FILE__, __LINE__, __func__);
    job->environment[job->env_size++] = slurm_xstrdup(pair);
}

static void take(job_desc_msg_t *job, const struct submit_verdict *v, const char *token)
{
    if (v->hold)
        job->priority = 0;
    if (job->open_mode == 0) /* a second attempt must not wipe what the first one wrote */
        job->open_mode = OPEN_MODE_APPEND;
    replace(&job->admin_comment, v->admin_comment);
    if (v->drop_gres)
        slurm_xfree((void **)&job->tres_per_node);
    if (v->script)
        replace(&job->script, v->script);
    set_variable(job, TOKEN_NAME, token);
    set_variable(job, "CORGI_REPORT", settings.report);
    set_variable(job, "CORGI_REPORT_CA", settings.report_ca);
}

/* ---- what slurmctld calls ---------------------------------------------------------- */

int init(void)
{
    refresh_settings();
    return SLURM_SUCCESS;
}

void fini(void)
{
}

/* Whoever may write an admin comment: root and SlurmUser. */
static bool is_trusted(uint32_t uid)
{
    return uid == 0 || uid == geteuid();
}

int job_submit(job_desc_msg_t *job, uint32_t uid, char **message)
{
    char token[TOKEN_SIZE], digest[2 * SHA256_DIGEST_LENGTH + 1];
    struct submit_verdict v;
    int rc = SLURM_SUCCESS;

    refresh_settings();
    if (is_trusted(uid) && job->admin_comment && strstr(job->admin_comment, SLURM_MARK))
        return SLURM_SUCCESS; /* the daemon hands it in, held and marked */
    if (make_token(token, digest) < 0) {
        slurm_error("job_submit/corgi: no randomness: a job passes as it is");
        return SLURM_SUCCESS;
    }
    v = submit_decide(&settings,
                      &(struct submitted_job){
                          .partition = job->partition,
                          .script = job->script,
                          .comment = job->comment,
                          .admin_comment = job->admin_comment,
                          .gres = job->tres_per_node,
                          .nodes = job->min_nodes != NO_VAL && job->min_nodes < MAX_NODES
                                       ? (int)job->min_nodes
                                       : 0,
                          .digest = digest,
                      });
    if (v.fate == SUBMIT_TAKE)
        take(job, &v, token);
    else if (v.fate == SUBMIT_REFUSE)
        rc = SLURM_ERROR; /* the message says why */
    if (v.message && message)
        *message = slurm_xstrdup(v.message);
    submit_verdict_fini(&v);
    return rc;
}

static bool is_marked(const struct record_head *record)
{
    return record && record->magic == RECORD_MAGIC && record->admin_comment &&
           strstr(record->admin_comment, SLURM_MARK);
}

/* Whoever may release, pin or move a job that Corgi holds would run it where nobody
 * planned it.  Holding, cancelling, limits and the rest stay the user's. */
int job_modify(job_desc_msg_t *change, void *job, uint32_t uid)
{
    bool released = change->priority != NO_VAL && change->priority != 0;
    bool pinned = change->req_nodes || change->exc_nodes || change->partition;

    if (is_trusted(uid) || !(released || pinned))
        return SLURM_SUCCESS;
    refresh_settings();
    return settings.hold && is_marked(job) ? ESLURM_ACCESS_DENIED : SLURM_SUCCESS;
}
