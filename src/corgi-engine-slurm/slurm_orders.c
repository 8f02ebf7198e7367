/* slurm_orders.c - worker threads of helper_server.c carry out here what the daemon's
 * engine asks for; helper_requests.c has refused all of it before, where nothing may be
 * changed */
#include "corgi-engine-slurm/slurm_orders.h"

#include "base/str.h"
#include "corgi-engine-slurm/slurm_source.h"
#include "engine/slurm/slurm_mark.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_NAME      1024 /* bytes of a name, a path or a list of nodes */
#define MAX_COMMENT   1024 /* bytes that slurmctld takes */
#define MAX_VARIABLES 4096
#define MAX_NODES     64
#define LAST_SIGNAL   64

/* ---- members ----------------------------------------------------------------------- */

/* Slurm's own errors: it was reached, and said no.  Smaller ones are of the line. */
#define FIRST_REFUSAL 2000

static int refuse(const char *what, struct err *err)
{
    if (errno == ESLURM_ACCESS_DENIED || errno == ESLURM_USER_ID_MISSING)
        return err_set(err, ERR_UNSUPPORTED,
                       "Slurm refuses changes by this user (%s): run the daemon and its "
                       "helper as root or as SlurmUser",
                       slurm_strerror(errno));
    return err_set(err, errno >= FIRST_REFUSAL ? ERR_INFEASIBLE : ERR_SYSTEM, "%s: %s",
                   what, slurm_strerror(errno));
}

/* Slurm takes char *, and only reads it. */
static char *lent(const char *text)
{
    union {
        const char *kept;
        char *lent;
    } as = {.kept = text};

    return as.lent;
}

static char *text_of(const struct json_value *request, const char *key)
{
    return lent(json_member_string(request, key));
}

/* A text of one line that is not too long, or none. */
static int check_text(const struct json_value *request, const char *key, size_t most,
                      struct err *err)
{
    const char *text = text_of(request, key);

    if (!text)
        return 0;
    if (strlen(text) > most)
        return err_set(err, ERR_LIMIT, "%s has more than %zu bytes", key, most);
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            return err_set(err, ERR_FORMAT, "%s has a control character", key);
    return 0;
}

/* ---- whose it is ------------------------------------------------------------------- */

/* Its record, of an element that waits that of its array; NULL: none. */
static const slurm_job_info_t *record_of(const job_info_msg_t *msg, const char *job)
{
    const char *element = strchr(job, '_');
    const slurm_job_info_t *rest = NULL;

    for (uint32_t i = 0; i < msg->record_count; i++) {
        const slurm_job_info_t *j = &msg->job_array[i];

        if (!element && j->job_id == strtoul(job, NULL, 10))
            return j;
        if (element && j->array_task_id == strtoul(element + 1, NULL, 10))
            return j;
        if (element && j->array_task_str)
            rest = j;
    }
    return rest;
}

/* A slurmctld that was killed may have given the number to somebody else since the last
 * look: with `mark`, the end of a digest, only a job that bears it is touched. */
static int check_mark(const struct json_value *request, const char *job, struct err *err)
{
    const char *mark = text_of(request, "mark");
    char digest[SLURM_DIGEST_SIZE] = "";
    job_info_msg_t *msg = NULL;
    const slurm_job_info_t *found;
    size_t length;

    if (!mark)
        return 0;
    if (slurm_load_job(&msg, (uint32_t)strtoul(job, NULL, 10), SHOW_ALL))
        return refuse("the job could not be read", err);
    found = record_of(msg, job);
    if (found)
        slurm_mark_digest(found->admin_comment, digest);
    slurm_free_job_info_msg(msg);
    length = strlen(digest);
    if (length < strlen(mark) || strcmp(digest + length - strlen(mark), mark) != 0)
        return err_set(err, ERR_EXISTS, "job %s is somebody else's", job);
    return 0;
}

/* "25" or, of an array, "25_2". */
static int read_job(const struct json_value *request, char **job, struct err *err)
{
    const char *at = text_of(request, "job");
    size_t digits = at ? strspn(at, "0123456789") : 0;

    *job = lent(at);
    if (digits > 0 && at[digits] == '_') {
        at += digits + 1;
        digits = strspn(at, "0123456789");
    }
    if (digits == 0 || digits > 10 || at[digits])
        return err_set(err, ERR_FORMAT,
                       "a job is a number, or of an array NUMBER_ELEMENT");
    return check_mark(request, *job, err);
}

/* Of several elements Slurm tells what it thinks of each. */
static int settle(int rc, job_array_resp_msg_t *answer, const char *what, struct err *err)
{
    int number = rc ? errno : SLURM_SUCCESS;

    for (uint32_t i = 0; rc == 0 && answer && i < answer->job_array_count; i++)
        if (answer->error_code[i])
            number = (int)answer->error_code[i];
    slurm_free_job_array_resp(answer);
    if (number == SLURM_SUCCESS)
        return 0;
    errno = number;
    return refuse(what, err);
}

/* ---- jobs that wait ---------------------------------------------------------------- */

/* Slurm reads a list of nodes as "at least these": their number bounds it. */
static int pin(const struct json_value *request, job_desc_msg_t *job, struct err *err)
{
    const char *names = text_of(request, "nodes");
    uint32_t count = 1;

    if (check_text(request, "nodes", MAX_NAME, err) < 0)
        return -1;
    if (!names)
        return 0;
    job->req_nodes = lent(names);
    if (!*names) /* any: as many as before */
        return 0;
    if (strpbrk(names, "[] "))
        return err_set(err, ERR_FORMAT, "nodes are names with commas between");
    for (const char *at = names; *at; at++)
        count += *at == ',';
    if (count > MAX_NODES)
        return err_set(err, ERR_LIMIT, "a job has at most %d nodes", MAX_NODES);
    job->min_nodes = job->max_nodes = count;
    return 0;
}

/* hold, or release: placement and release come in one call. */
static int turn(const struct json_value *request, job_desc_msg_t *job, struct err *err)
{
    bool hold = json_member_bool(request, "hold", false);
    bool release = json_member_bool(request, "release", false);

    if (hold && release)
        return err_set(err, ERR_INVALID, "hold and release exclude each other");
    if (hold)
        job->priority = 0;
    if (release) {
        job->priority = INFINITE;
        job->begin_time = time(NULL); /* one that was queued again would wait minutes */
    }
    return 0;
}

static int describe(const struct json_value *request, job_desc_msg_t *job,
                    struct err *err)
{
    if (check_text(request, "gres", MAX_NAME, err) < 0 ||
        check_text(request, "admin_comment", MAX_COMMENT, err) < 0 ||
        pin(request, job, err) < 0 || turn(request, job, err) < 0)
        return -1;
    job->tres_per_node = text_of(request, "gres");
    job->admin_comment = text_of(request, "admin_comment");
    return 0;
}

int slurm_order_update_job(const struct json_value *request, struct json_out *out,
                           struct err *err)
{
    job_array_resp_msg_t *answer = NULL;
    job_desc_msg_t job;
    int rc;

    (void)out;
    slurm_source_ready();
    slurm_init_job_desc_msg(&job);
    if (read_job(request, &job.job_id_str, err) < 0 || describe(request, &job, err) < 0)
        return -1;
    rc = slurm_update_job2(&job, &answer);
    return settle(rc, answer, "the job could not be changed", err);
}

/* ---- jobs that are handed in ------------------------------------------------------- */

static int read_owner(const struct json_value *request, job_desc_msg_t *job,
                      struct err *err)
{
    double uid = json_member_number(request, "uid", NAN),
           gid = json_member_number(request, "gid", NAN);

    if (!(uid >= 0 && uid < UINT32_MAX && gid >= 0 && gid < UINT32_MAX))
        return err_set(err, ERR_INVALID, "a job has the uid and the gid of its user");
    job->user_id = (uint32_t)uid;
    job->group_id = (uint32_t)gid;
    return 0;
}

static int read_size(const struct json_value *request, job_desc_msg_t *job,
                     struct err *err)
{
    double cpus = json_member_number(request, "cpus", 1),
           memory_mb = json_member_number(request, "memory_mb", 0),
           limit_s = json_member_number(request, "limit_s", 0);

    if (!(cpus >= 1 && cpus <= 65533) || !(memory_mb >= 0 && memory_mb < 1e12) ||
        !(limit_s >= 0 && limit_s < 1e9))
        return err_set(err, ERR_INVALID, "cpus, memory_mb or limit_s cannot be meant");
    job->cpus_per_task = (uint16_t)cpus;
    job->num_tasks = 1;
    if (memory_mb > 0)
        job->pn_min_memory = (uint64_t)memory_mb;
    if (limit_s > 0)
        job->time_limit = (uint32_t)ceil(limit_s / 60);
    return 0;
}

static int read_names(const struct json_value *request, job_desc_msg_t *job,
                      struct err *err)
{
    const struct {
        const char *key;
        char **to;
    } names[] = {{"name", &job->name},       {"partition", &job->partition},
                 {"account", &job->account}, {"qos", &job->qos},
                 {"output", &job->std_out},  {"directory", &job->work_dir}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (check_text(request, names[i].key, MAX_NAME, err) < 0)
            return -1;
        *names[i].to = text_of(request, names[i].key);
    }
    if (!job->work_dir || *job->work_dir != '/')
        return err_set(err, ERR_INVALID, "a job has a directory, as a whole path");
    job->script = text_of(request, "script");
    if (!job->script || strncmp(job->script, "#!", 2) != 0)
        return err_set(err, ERR_INVALID, "a job has a script that begins with #!");
    return 0;
}

/* Who the user is, as far as the environment does not say; it lives in `entry`. */
struct user_texts {
    char home[MAX_NAME], user[MAX_NAME], logname[MAX_NAME];
};

static bool names(char *const *variables, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(variables[i], name, strlen(name)) == 0)
            return true;
    return false;
}

static size_t add_user(uint32_t uid, struct user_texts *texts, char **variables,
                       size_t count)
{
    struct passwd entry, *found = NULL;
    char memory[4096];

    if (getpwuid_r(uid, &entry, memory, sizeof(memory), &found) != 0 || !found)
        return count;
    snprintf(texts->home, sizeof(texts->home), "HOME=%.1000s", found->pw_dir);
    snprintf(texts->user, sizeof(texts->user), "USER=%.1000s", found->pw_name);
    snprintf(texts->logname, sizeof(texts->logname), "LOGNAME=%.1000s", found->pw_name);
    if (!names(variables, count, "HOME="))
        variables[count++] = texts->home;
    if (!names(variables, count, "USER="))
        variables[count++] = texts->user;
    if (!names(variables, count, "LOGNAME="))
        variables[count++] = texts->logname;
    return count;
}

/* "NAME=VALUE" of an array, borrowed; Slurm wants one at least. */
static int read_environment(const struct json_value *request, struct user_texts *texts,
                            char **variables, job_desc_msg_t *job, struct err *err)
{
    const struct json_value *list = json_value_get(request, "environment");
    size_t count = json_value_count(list);

    if (count > MAX_VARIABLES)
        return err_set(err, ERR_LIMIT, "the environment has more than %d variables",
                       MAX_VARIABLES);
    for (size_t i = 0; i < count; i++) {
        variables[i] = lent(json_value_string(json_value_item(list, i)));
        if (!variables[i] || !strchr(variables[i], '='))
            return err_set(err, ERR_FORMAT, "the environment is a list of NAME=VALUE");
    }
    count = add_user(job->user_id, texts, variables, count);
    if (count == 0)
        variables[count++] = lent("SLURM_GET_USER_ENV=1");
    job->environment = variables;
    job->env_size = (uint32_t)count;
    return 0;
}

int slurm_order_submit(const struct json_value *request, struct json_out *out,
                       struct err *err)
{
    submit_response_msg_t *answer = NULL;
    char *variables[MAX_VARIABLES + 3];
    struct user_texts texts;
    char number[16];
    job_desc_msg_t job;

    slurm_source_ready();
    slurm_init_job_desc_msg(&job);
    if (read_owner(request, &job, err) < 0 || read_names(request, &job, err) < 0 ||
        read_size(request, &job, err) < 0 || describe(request, &job, err) < 0 ||
        read_environment(request, &texts, variables, &job, err) < 0)
        return -1;
    job.priority = 0; /* released when it is placed */
    job.open_mode = OPEN_MODE_APPEND;
    job.requeue = 1;
    if (slurm_submit_batch_job(&job, &answer))
        return refuse("the job was not taken", err);
    snprintf(number, sizeof(number), "%u", answer->job_id);
    slurm_free_submit_response_response_msg(answer);
    json_out_key_string(out, "job", number);
    return 0;
}

/* ---- jobs that run ----------------------------------------------------------------- */

int slurm_order_requeue(const struct json_value *request, struct json_out *out,
                        struct err *err)
{
    job_array_resp_msg_t *answer = NULL;
    char *job;
    int rc;

    (void)out;
    slurm_source_ready();
    if (read_job(request, &job, err) < 0)
        return -1;
    rc = slurm_requeue2(job, JOB_REQUEUE_HOLD, &answer);
    return settle(rc, answer, "the job could not be queued again", err);
}

int slurm_order_signal(const struct json_value *request, struct json_out *out,
                       struct err *err)
{
    double number = json_member_number(request, "signal", 0);
    char *job;

    (void)out;
    slurm_source_ready();
    if (read_job(request, &job, err) < 0)
        return -1;
    if (!(number >= 1 && number <= LAST_SIGNAL))
        return err_set(err, ERR_INVALID, "a signal has a number from 1 to %d",
                       LAST_SIGNAL);
    if (slurm_kill_job2(job, (uint16_t)number, KILL_JOB_BATCH, NULL))
        return refuse("the job could not be signalled", err);
    return 0;
}

int slurm_order_cancel(const struct json_value *request, struct json_out *out,
                       struct err *err)
{
    char *job;

    (void)out;
    slurm_source_ready();
    if (read_job(request, &job, err) < 0)
        return -1;
    if (slurm_kill_job2(job, SIGKILL, 0, NULL) && errno != ESLURM_ALREADY_DONE)
        return refuse("the job could not be cancelled", err);
    return 0;
}

/* ---- nodes ------------------------------------------------------------------------- */

int slurm_order_update_node(const struct json_value *request, struct json_out *out,
                            struct err *err)
{
    static const struct {
        const char *word;
        uint32_t state;
    } states[] = {{"power_down", NODE_STATE_POWER_DOWN},
                  {"power_up", NODE_STATE_POWER_UP},
                  {"drain", NODE_STATE_DRAIN},
                  {"undrain", NODE_STATE_UNDRAIN}};
    const char *wanted = text_of(request, "state");
    update_node_msg_t node;
    size_t i = 0;

    (void)out;
    slurm_source_ready();
    slurm_init_update_node_msg(&node);
    while (i < sizeof(states) / sizeof(states[0]) && wanted &&
           strcmp(states[i].word, wanted) != 0)
        i++;
    if (!wanted || i == sizeof(states) / sizeof(states[0]))
        return err_set(err, ERR_INVALID,
                       "a node's state is power_down, power_up, drain or undrain");
    if (check_text(request, "node", MAX_NAME, err) < 0 ||
        check_text(request, "reason", MAX_NAME, err) < 0)
        return -1;
    node.node_names = text_of(request, "node");
    if (!node.node_names || !*node.node_names || strpbrk(node.node_names, ",[] "))
        return err_set(err, ERR_INVALID, "one node is named");
    node.node_state = states[i].state;
    node.reason = text_of(request, "reason");
    if (slurm_update_node(&node))
        return refuse("the node could not be changed", err);
    return 0;
}
