/* job_parse.c - see job_parse.h
 *
 * handle_submit.c calls it with the body of a submission, a quote or a change; the job
 * goes on to the loop's quote and into the store. */
#include "service/job_parse.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/json_schema.h"

#include <ctype.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_GRACE_S 30.0

static char *keep(struct parsed_job *out, char *text)
{
    vec_push(&out->texts, text);
    return text;
}

static int wrong(char field[SCHEMA_PATH_SIZE], const char *name, struct err *err,
                 enum err_code code, const char *sentence)
{
    str_copy(field, SCHEMA_PATH_SIZE, name);
    return err_set(err, code, "%s", sentence);
}

/* ---- parts ------------------------------------------------------------------------ */

static int type_named(const struct cluster *c, const char *name)
{
    for (int t = 0; t < c->type_count; t++)
        if (gpu_named(&c->types[t], name))
            return t;
    return -1;
}

uint64_t job_parse_types(const struct cluster *cluster, const char *names)
{
    char name[GPU_NAME_SIZE * 4];
    uint64_t bits = 0;

    while (str_next_word(&names, name, sizeof(name))) {
        int type = type_named(cluster, name);

        if (type >= 0)
            bits |= (uint64_t)1 << type;
    }
    return bits;
}

static int parse_types(const struct cluster *c, const struct json_value *list,
                       struct parsed_job *out, char field[SCHEMA_PATH_SIZE],
                       struct err *err)
{
    struct store_request *q = &out->job.request;
    struct str names = {0};

    q->job.types_allowed = 0;
    q->types = NULL;
    for (size_t i = 0; i < json_value_count(list); i++) {
        const char *name = json_value_string(json_value_item(list, i));
        int type = type_named(c, name);

        if (type < 0) {
            str_fini(&names);
            snprintf(field, SCHEMA_PATH_SIZE, "types[%zu]", i);
            return err_set(err, ERR_INVALID, "the cluster has no GPU type '%s'", name);
        }
        q->job.types_allowed |= (uint64_t)1 << type;
        str_addf(&names, "%s%s", i ? "," : "", c->types[type].name);
    }
    if (names.length)
        q->types = keep(out, str_take(&names));
    str_fini(&names);
    return 0;
}

static int parse_need(double now_s, const struct json_value *need, struct job *job,
                      char field[SCHEMA_PATH_SIZE], struct err *err)
{
    static const char *const kinds[] = {"best_effort", "rate", "service", "deadline"};
    struct requirement n = {.rate = json_member_number(need, "rate", 0),
                            .latency_s = json_member_number(need, "latency_s", 0),
                            .deadline_s = json_member_number(need, "deadline_s", 0),
                            .confidence = json_member_number(need, "confidence", 0)};
    double within_s = json_member_number(need, "within_s", 0);
    const char *kind = json_member_string(need, "kind");

    while (strcmp(kinds[n.kind], kind) != 0)
        n.kind++;
    if ((n.kind == NEED_RATE || n.kind == NEED_SERVICE) && !(n.rate > 0))
        return wrong(field, "need.rate", err, ERR_INVALID,
                     "a required rate must be above 0");
    if (n.kind == NEED_SERVICE && job->kind != JOB_INFERENCE)
        return wrong(field, "need.kind", err, ERR_INVALID,
                     "requests/s can only be asked of jobs of kind inference");
    if (n.kind == NEED_DEADLINE) {
        if ((n.deadline_s > 0) == (within_s > 0))
            return wrong(field, "need.deadline_s", err, ERR_INVALID,
                         "a deadline needs either deadline_s or within_s");
        if (within_s > 0)
            n.deadline_s = now_s + within_s;
        if (n.deadline_s <= now_s)
            return wrong(field, "need.deadline_s", err, ERR_INVALID,
                         "the deadline is not in the future");
        if (!(job->total_steps > 0))
            return wrong(field, "total_steps", err, ERR_INVALID,
                         "a deadline needs the total number of steps");
    }
    if (n.kind == NEED_BEST_EFFORT || n.kind == NEED_DEADLINE)
        n.rate = 0;
    job->need = n;
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The word a person would call the program by: the script rather than its interpreter. */
static size_t program_word(const struct parsed_job *p)
{
    for (size_t i = 0; i + 1 < p->argv.count; i++) {
        const char *word = p->argv.items[i];

        if (word[0] != '-' && (str_ends(word, ".py") || str_ends(word, ".sh")))
            return i;
    }
    return 0;
}

static const char *program_of(const struct parsed_job *p)
{
    const char *word = p->argv.count > 1 ? p->argv.items[program_word(p)] : NULL;

    return word && *word ? base_name(word) : NULL;
}

static uint64_t hash_word(uint64_t hash, const char *word)
{
    for (const char *c = word; *c; c++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*c);
    return rng_mix(hash, 0);
}

/* Users without a number in the system are told apart by name. */
static int owner_of(const struct auth_identity *who)
{
    if (who->uid != AUTH_NO_ID)
        return (int)who->uid;
    return -2 - (int)(hash_word(1, who->name) & 0x3fffffff);
}

/* Runs of the same program of the same user with the same arguments are alike as long as
 * nothing better is told; numbers at the end of a name tell runs apart, not programs. */
static size_t name_family(struct job *job, const char *user, const char *program)
{
    char *family = job->descriptor.family;
    size_t length = (size_t)snprintf(family, DESCRIPTOR_FAMILY_SIZE, "%.15s:%.22s", user,
                                     program ? program : job->name);

    while (length > 1 && (isdigit((unsigned char)family[length - 1]) ||
                          strchr("-_.", family[length - 1])))
        family[--length] = '\0';
    return length;
}

static void guess_family(struct parsed_job *p, const char *user)
{
    struct job *job = &p->job.request.job;
    char *family = job->descriptor.family;
    uint64_t arguments = 1;
    size_t length;

    if (family[0])
        return;
    length = name_family(job, user, program_of(p));
    for (size_t i = 1; i + 1 < p->argv.count; i++)
        if (i != program_word(p))
            arguments = hash_word(arguments, p->argv.items[i]);
    if (arguments != 1)
        snprintf(family + length, DESCRIPTOR_FAMILY_SIZE - length, "#%08x",
                 (unsigned)(arguments & 0xffffffff));
}

static void parse_descriptor(const struct json_value *told, struct job_descriptor *d)
{
    const char *family = json_member_string(told, "family"),
               *model = json_member_string(told, "model");

    *d = (struct job_descriptor){
        .model = model ? model_kind_find(model) : MODEL_UNKNOWN,
        .batch = (int)json_member_number(told, "batch", 0),
        .gmac_per_sample = json_member_number(told, "gmac_per_sample", 0),
        .params_millions = json_member_number(told, "params_millions", 0),
        .memory_mb_per_sample = json_member_number(told, "memory_mb_per_sample", 0),
    };
    if (family)
        str_copy(d->family, sizeof(d->family), family);
}

static void class_key(const struct job *job, char key[200])
{
    const struct job_descriptor *d = &job->descriptor;

    snprintf(key, 200, "%s/%d/%d/%.4g/%.4g/%.4g/%d/%d", d->family, (int)d->model,
             d->batch, d->gmac_per_sample, d->params_millions, d->memory_mb_per_sample,
             job->devices, (int)job->kind);
}

/* The estimator's memory grows with the square of the kinds it tells apart: users who
 * invent new ones without end get one kind each. */
static void bound_classes(const struct intern *classes, int classes_max, const char *user,
                          struct job *job)
{
    char key[200];

    class_key(job, key);
    if (intern_find(classes, key) >= 0 || intern_count(classes) < classes_max)
        return;
    job->descriptor = (struct job_descriptor){0};
    snprintf(job->descriptor.family, DESCRIPTOR_FAMILY_SIZE, "%.15s:other", user);
}

void job_parse_guess_kind(const struct intern *classes, int classes_max, const char *user,
                          const char *command, struct job *job)
{
    const char *slash = command ? strrchr(command, '/') : NULL;

    name_family(job, user, slash ? slash + 1 : command);
    bound_classes(classes, classes_max, user, job);
}

void job_parse_know_class(struct intern *classes, const struct job *job)
{
    char key[200];

    class_key(job, key);
    intern_id(classes, key);
}

/* ---- what is run ------------------------------------------------------------------ */

static int parse_environment(const struct json_value *map, struct parsed_job *out,
                             char field[SCHEMA_PATH_SIZE], struct err *err)
{
    struct json_iter it = {.object = map};

    while (map && json_iter_next(&it)) {
        struct str entry = {0};

        if (!it.key[0] || strlen(it.key) > 200 || strpbrk(it.key, "= \t\n"))
            return wrong(field, "environment", err, ERR_INVALID,
                         "a name in the environment is empty, too long or has '=' or "
                         "blanks in it");
        str_addf(&entry, "%s=%s", it.key, json_value_string(it.value));
        vec_push(&out->env, keep(out, str_take(&entry)));
    }
    vec_push(&out->env, NULL);
    out->job.request.env = out->env.items;
    return 0;
}

static int parse_command(bool needed, const struct json_value *body,
                         struct parsed_job *out, char field[SCHEMA_PATH_SIZE],
                         struct err *err)
{
    const struct json_value *words = json_value_get(body, "command");

    if (!words && needed)
        return wrong(field, "command", err, ERR_INVALID,
                     "a command is needed: what shall run?");
    for (size_t i = 0; i < json_value_count(words); i++)
        vec_push(&out->argv, json_value_string(json_value_item(words, i)));
    vec_push(&out->argv, NULL);
    out->job.request.argv = out->argv.items;
    if (words && !out->argv.items[0][0])
        return wrong(field, "command[0]", err, ERR_INVALID, "the command is empty");
    return parse_environment(json_value_get(body, "environment"), out, field, err);
}

/* A device is not free before the job has left it, so how long that may take is the
 * operator's to bound. */
static int parse_grace(const struct job_parse_context *c, const struct json_value *body,
                       struct store_request *q, char field[SCHEMA_PATH_SIZE],
                       struct err *err)
{
    q->stop_grace_s =
        json_member_number(body, "stop_grace_s", fmin(STOP_GRACE_S, c->stop_grace_max_s));
    if (q->stop_grace_s <= c->stop_grace_max_s)
        return 0;
    str_copy(field, SCHEMA_PATH_SIZE, "stop_grace_s");
    return err_set(err, ERR_INVALID,
                   "a job has at most %g s to end after it was told to, not %g",
                   c->stop_grace_max_s, q->stop_grace_s);
}

static int parse_paths(const struct job_parse_context *c, const struct auth_identity *who,
                       const struct json_value *body, struct parsed_job *out,
                       char field[SCHEMA_PATH_SIZE], struct err *err)
{
    struct store_request *q = &out->job.request;
    const struct passwd *account = who->uid != AUTH_NO_ID ? getpwuid(who->uid) : NULL;

    q->directory = json_member_string(body, "directory");
    q->output = json_member_string(body, "output");
    q->metrics_url = json_member_string(body, "metrics_url");
    q->metrics_counter = json_member_string(body, "metrics_counter");
    q->progress_file = json_member_string(body, "progress_file");
    q->checkpoint_signal = (int)json_member_number(body, "checkpoint_signal", 0);
    if (q->directory && q->directory[0] != '/')
        return wrong(field, "directory", err, ERR_INVALID,
                     "the directory must be an absolute path");
    if (c->account_needed && !account)
        return err_set(err, ERR_INVALID,
                       "%s has no account on this machine, so nothing can run as this "
                       "user",
                       who->name[0] ? who->name : "this user");
    if (!q->directory)
        q->directory =
            keep(out, mem_strdup(account && account->pw_dir[0] == '/' ? account->pw_dir
                                                                      : "/"));
    return parse_grace(c, body, q, field, err);
}

/* Whoever goes before all others takes their turn: only so far as the operator says. */
static int check_priority(const struct job_parse_context *c,
                          const struct json_value *body, char field[SCHEMA_PATH_SIZE],
                          struct err *err)
{
    double asked = json_member_number(body, "priority", -INFINITY);

    if (asked <= c->priority_max)
        return 0;
    str_copy(field, SCHEMA_PATH_SIZE, "priority");
    return err_set(err, ERR_INVALID,
                   "priority %.0f is above %d, the most a user may ask for; an operator "
                   "can raise it",
                   asked, c->priority_max);
}

static int parse_numbers(const struct job_parse_context *c, const struct json_value *body,
                         struct job *job, char field[SCHEMA_PATH_SIZE], struct err *err)
{
    const char *kind = json_member_string(body, "kind");

    if (check_priority(c, body, field, err) < 0)
        return -1;

    if (kind)
        job->kind = strcmp(kind, "inference") == 0 ? JOB_INFERENCE : JOB_TRAINING;
    job->total_steps = json_member_number(body, "total_steps", job->total_steps);
    job->duration_s = json_member_number(body, "duration_s", job->duration_s);
    job->devices = (int)json_member_number(body, "gpus", job->devices);
    job->memory_gb = json_member_number(body, "memory_gb", job->memory_gb);
    job->cpus = json_member_number(body, "cpus", job->cpus);
    job->host_memory_gb = json_member_number(body, "host_memory_gb", job->host_memory_gb);
    job->priority = (int)json_member_number(body, "priority", job->priority);
    job->may_share = json_member_bool(body, "share", job->may_share) &&
                     !(c->gangs_alone && job->devices > 1);
    job->may_move = json_member_bool(body, "move", job->may_move);
    return 0;
}

static void name_job(struct parsed_job *out, const char *name)
{
    const char *program = program_of(out);

    str_copy(out->job.request.job.name, LOOP_NAME_SIZE,
             name      ? name
             : program ? program
                       : "job");
}

/* Only a service has replicas, and each is on one GPU as far as its rate is known. */
static int parse_replicas(const struct json_value *body, struct parsed_job *out,
                          char field[SCHEMA_PATH_SIZE], struct err *err)
{
    const struct job *job = &out->job.request.job;
    bool service = job->kind == JOB_INFERENCE && job->need.kind == NEED_SERVICE;

    out->replicas = (struct record_replicas){
        .number = 1, /* the next is NAME/2 */
        .scale_to_zero = json_member_bool(body, "scale_to_zero", false),
        .max = (int)json_member_number(body, "max_replicas", 1)};
    if (out->replicas.max > 1 && !service)
        return wrong(field, "max_replicas", err, ERR_INVALID,
                     "only a service has replicas: kind inference, need service");
    if (out->replicas.scale_to_zero && !service)
        return wrong(field, "scale_to_zero", err, ERR_INVALID,
                     "only a service has replicas: kind inference, need service");
    return 0;
}

static bool has_partition(const struct config_list *partitions, const char *name)
{
    for (size_t i = 0; i < partitions->count; i++)
        if (strcmp(((char *const *)partitions->items)[i], name) == 0)
            return true;
    return false;
}

/* What it belongs to where the engine has such things. */
static int parse_there(const struct job_parse_context *c, const struct json_value *body,
                       struct parsed_job *out, char field[SCHEMA_PATH_SIZE],
                       struct err *err)
{
    char *partition = out->there.names[JOB_GROUP_PARTITION];

    for (int i = 0; i < JOB_GROUPS; i++) {
        const char *name = json_member_string(body, job_group_kinds[i]);

        if (name && !c->partitions)
            return wrong(field, job_group_kinds[i], err, ERR_INVALID,
                         "only jobs that Corgi hands in to Slurm have a partition, an "
                         "account or a QOS");
        str_copy(out->there.names[i], LOOP_NAME_SIZE, name ? name : "");
    }
    if (!c->partitions)
        return 0;
    if (!partition[0])
        str_copy(partition, LOOP_NAME_SIZE, ((char **)c->partitions->items)[0]);
    else if (!has_partition(c->partitions, partition))
        return wrong(field, job_group_kinds[JOB_GROUP_PARTITION], err, ERR_INVALID,
                     "Corgi places no jobs in that partition, see slurm.partitions");
    return 0;
}

int job_parse(const struct job_parse_context *c, const struct auth_identity *who,
              const struct json_value *body, struct parsed_job *out,
              char field[SCHEMA_PATH_SIZE], struct err *err)
{
    struct store_request *q = &out->job.request;
    const char *counter;

    field[0] = '\0';
    *out = (struct parsed_job){0};
    q->job = (struct job){.devices = 1,
                          .may_share = true,
                          .may_move = true,
                          .submitted_s = c->now_s,
                          .priority = c->priority_max < 0 ? c->priority_max : 0,
                          .owner = owner_of(who)};
    q->user = who->name;
    q->uid = who->uid;
    q->gid = who->gid;
    if (parse_numbers(c, body, &q->job, field, err) < 0)
        return -1;
    counter = json_member_string(body, "on_counter");
    out->accept_counter = counter && strcmp(counter, "accept") == 0;
    out->job.progress =
        (struct store_progress){.held = json_member_bool(body, "hold", false),
                                .exit_status = -1,
                                .started_s = NAN,
                                .placed_s = NAN,
                                .ended_s = NAN};
    if (parse_command(c->command_needed, body, out, field, err) < 0 ||
        parse_paths(c, who, body, out, field, err) < 0)
        return -1;
    name_job(out, json_member_string(body, "name"));
    parse_descriptor(json_value_get(body, "descriptor"), &q->job.descriptor);
    guess_family(out, who->name);
    bound_classes(c->classes, c->classes_max, who->name, &q->job);
    if (parse_types(c->cluster, json_value_get(body, "types"), out, field, err) < 0)
        return -1;
    if (json_value_get(body, "need") &&
        parse_need(c->now_s, json_value_get(body, "need"), &q->job, field, err) < 0)
        return -1;
    if (parse_there(c, body, out, field, err) < 0)
        return -1;
    return parse_replicas(body, out, field, err);
}

int job_parse_change(const struct job_parse_context *c, const struct json_value *change,
                     struct parsed_job *out, char field[SCHEMA_PATH_SIZE],
                     struct err *err)
{
    struct job *job = &out->job.request.job;
    const char *name = json_member_string(change, "name");

    field[0] = '\0';
    if (parse_numbers(c, change, job, field, err) < 0)
        return -1;
    if (name)
        str_copy(job->name, sizeof(job->name), name);
    if (json_value_get(change, "types") &&
        parse_types(c->cluster, json_value_get(change, "types"), out, field, err) < 0)
        return -1;
    if (json_value_get(change, "need") &&
        parse_need(c->now_s, json_value_get(change, "need"), job, field, err) < 0)
        return -1;
    return 0;
}

int job_parse_asked(const struct job_parse_context *c, const char *user,
                    const struct json_value *asked, struct job *job,
                    char field[SCHEMA_PATH_SIZE], struct err *err)
{
    const struct json_value *told = json_value_get(asked, "descriptor");
    struct parsed_job p = {.job.request.job = *job};
    struct job *made = &p.job.request.job;
    int rc = job_parse_change(c, asked, &p, field, err);

    if (rc == 0) {
        made->devices = job->devices;
        made->may_share = made->may_share && job->may_share;
        if (made->types_allowed & job->types_allowed)
            made->types_allowed &= job->types_allowed;
        if (json_member_string(told, "family"))
            parse_descriptor(told, &made->descriptor);
        bound_classes(c->classes, c->classes_max, user, made);
        *job = *made;
    }
    job_parse_fini(&p);
    return rc;
}

void job_parse_fini(struct parsed_job *p)
{
    vec_each (char *, entry, &p->texts)
        free(*entry);
    vec_free(&p->texts);
    vec_free(&p->argv);
    vec_free(&p->env);
}

void job_parse_digest(const struct json_value *body,
                      unsigned char digest[STORE_DIGEST_BYTES])
{
    struct str bytes = {0};
    struct json_out out;

    json_out_init(&out, &bytes, false);
    json_value_write(body, &out);
    store_digest(str_text(&bytes), bytes.length, digest);
    str_fini(&bytes);
}
