/* slurm_jobs.c - `sacct` read line by line: slurm.c makes arrivals of it */
#include "lab/traces/slurm_jobs.h"

#include "base/mem.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/jobstats.h"
#include "world/power.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_JOULES 1e15
/* Of a job that did nothing: 0 stands for not told. */
#define LEAST_USE 1e-3

enum column {
    JOB_ID,
    SUBMIT,
    ALLOC_TRES,
    ELAPSED,
    ELAPSED_RAW,
    START,
    END,
    ELIGIBLE,
    REQ_TRES,
    NNODES,
    NODE_LIST,
    STATE,
    USER,
    JOB_NAME,
    ADMIN_COMMENT,
    CONSUMED,
    PARTITION,
    GPU_USE, /* of a daemon's record, with the next two: see corgi/slurm_export.h */
    UNUSED_GPUS,
    GPU_MEMORY,
    RATE,
    NEED,
    WATTS,
    COLUMN_COUNT
};

static const char *const titles[COLUMN_COUNT] = {
    "JobID",      "Submit",  "AllocTRES",    "Elapsed",
    "ElapsedRaw", "Start",   "End",          "Eligible",
    "ReqTRES",    "NNodes",  "NodeList",     "State",
    "User",       "JobName", "AdminComment", "ConsumedEnergyRaw",
    "Partition",  "GpuUse",  "UnusedGpus",   "GpuMemoryGb",
    "Rate",       "Need",    "Watts"};

struct jobs_reading {
    vec_of(struct slurm_job) list;
    struct slurm_jobs found; /* its counts */
    const struct slurm_nodes *nodes;
    const char *names;
    int fields; /* of the header */
    int at[COLUMN_COUNT];
    const char *field[COLUMN_COUNT]; /* of the present line; "" where there is none */
    struct err *err;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 7;

    for (; *text; text++)
        hash = rng_mix(hash, (unsigned char)*text);
    return hash;
}

static int check_header(const struct jobs_reading *r)
{
    for (int c = JOB_ID; c <= ALLOC_TRES; c++)
        if (r->at[c] < 0)
            return err_set(r->err, ERR_FORMAT,
                           "no column %s in the header; make the list with sacct -P -o "
                           "JobID,User,JobName,Submit,Start,End,Elapsed,AllocTRES,"
                           "ReqTRES,NNodes,NodeList,State",
                           titles[c]);
    if (r->at[ELAPSED] < 0 && r->at[ELAPSED_RAW] < 0 &&
        (r->at[START] < 0 || r->at[END] < 0))
        return err_set(r->err, ERR_FORMAT,
                       "no column Elapsed in the header, nor Start and End; add it to "
                       "sacct -o");
    return 0;
}

static int read_header(struct jobs_reading *r, char *line)
{
    char *title;

    for (int c = 0; c < COLUMN_COUNT; c++)
        r->at[c] = -1;
    for (; (title = slurm_cut(&line, '|')); r->fields++)
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (!strcasecmp(title, titles[c]))
                r->at[c] = r->fields;
    r->found.named = r->at[JOB_NAME] >= 0;
    return check_header(r);
}

static int split(struct jobs_reading *r, char *line)
{
    int fields = 0;
    char *field;

    for (int c = 0; c < COLUMN_COUNT; c++)
        r->field[c] = "";
    for (; (field = slurm_cut(&line, '|')); fields++)
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (r->at[c] == fields)
                r->field[c] = field;
    if (fields == r->fields)
        return 0;
    return err_set(r->err, ERR_FORMAT,
                   "%d fields where the header has %d; if a name holds a '|', leave "
                   "JobName out",
                   fields, r->fields);
}

static bool is_told(const char *time)
{
    return *time && strcasecmp(time, "Unknown") != 0 && strcasecmp(time, "None") != 0;
}

static int read_time(const struct jobs_reading *r, enum column c, double *seconds)
{
    if (slurm_time(r->field[c], seconds))
        return 0;
    return err_set(r->err, ERR_FORMAT, "%s is \"%.40s\", want 2024-03-01T12:34:56",
                   titles[c], r->field[c]);
}

/* Time it ran; 0: it did not. */
static int read_duration(const struct jobs_reading *r, double *seconds)
{
    double start_s, end_s;

    *seconds = 0;
    if (r->at[START] >= 0 && !is_told(r->field[START]))
        return 0;
    if (*r->field[ELAPSED_RAW]) {
        if (!parse_double(r->field[ELAPSED_RAW], seconds) || !(*seconds >= 0))
            return err_set(r->err, ERR_FORMAT, "ElapsedRaw is \"%.40s\", want seconds",
                           r->field[ELAPSED_RAW]);
    } else if (*r->field[ELAPSED]) {
        if (!slurm_elapsed(r->field[ELAPSED], seconds))
            return err_set(r->err, ERR_FORMAT,
                           "Elapsed is \"%.40s\", want [DAYS-]HH:MM:SS",
                           r->field[ELAPSED]);
    } else if (is_told(r->field[START]) && is_told(r->field[END])) {
        if (read_time(r, START, &start_s) < 0 || read_time(r, END, &end_s) < 0)
            return -1;
        *seconds = end_s > start_s ? end_s - start_s : 0;
    }
    if (*seconds > ARRIVALS_MAX_S)
        return err_set(r->err, ERR_INVALID, "ran for %.0f days, want at most ten years",
                       *seconds / 86400);
    return 0;
}

static int read_times(const struct jobs_reading *r, struct slurm_job *job)
{
    struct arrival *a = &job->arrival;

    if (read_duration(r, &a->duration_s) < 0 || read_time(r, SUBMIT, &a->at_s) < 0)
        return -1;
    if (is_told(r->field[ELIGIBLE]) && read_time(r, ELIGIBLE, &a->at_s) < 0)
        return -1;
    job->start_s = a->at_s;
    if (is_told(r->field[START]))
        return read_time(r, START, &job->start_s);
    return 0;
}

/* The type with the most of a job's GPUs, whose total is in *total. */
static const char *main_type(const struct slurm_gres *g, int *total)
{
    const char *type = "";
    int most = 0, sum = 0;

    for (int k = 0; k < g->kinds; k++) {
        sum += g->kind[k].count;
        if (g->kind[k].count <= most)
            continue;
        most = g->kind[k].count;
        type = g->kind[k].type;
    }
    *total = sum > g->untyped ? sum : g->untyped;
    return type;
}

static bool take_first(void *ctx, const char *host)
{
    str_copy(ctx, SLURM_HOST_SIZE, host);
    return false;
}

/* Of the first node a job was on, if that has but one type. */
static const struct gpu_sheet *card_of_node(const struct jobs_reading *r)
{
    char host[SLURM_HOST_SIZE];
    const struct slurm_node *node;

    if (!r->nodes || slurm_hosts(r->field[NODE_LIST], 1, take_first, host, NULL) < 0)
        return NULL;
    node = slurm_nodes_find(r->nodes, host);
    return node && node->kinds == 1 ? node->card[0] : NULL;
}

static int read_gpus(struct jobs_reading *r, struct arrival *a)
{
    const struct gpu_sheet *card = NULL;
    struct slurm_gres g, asked;
    const char *type;
    int ignored;

    if (slurm_gres_read_tres(&g, r->field[ALLOC_TRES], r->err) < 0 ||
        slurm_gres_read_tres(&asked, r->field[REQ_TRES], r->err) < 0)
        return -1;
    type = main_type(&g, &a->devices);
    if (a->devices == 0 && g.shards > 0) {
        a->devices = 1;
        a->part = true;
        r->found.shards += a->duration_s > 0;
    }
    if (a->devices > ARRIVALS_MAX_DEVICES)
        return err_set(r->err, ERR_LIMIT, "%d GPUs, want at most %d", a->devices,
                       ARRIVALS_MAX_DEVICES);
    if (a->devices == 0 || !(a->duration_s > 0))
        return 0;
    if (!*type)
        card = card_of_node(r);
    if (!card && !(card = slurm_gres_card(r->names, type, r->err)) && *type)
        return -1;
    str_copy(a->ran_on, sizeof(a->ran_on), card ? card->name : "");
    r->found.type_unknown += card == NULL;
    type = main_type(&asked, &ignored);
    if (!*type)
        return 0;
    if (!(card = slurm_gres_card(r->names, type, r->err)))
        return -1;
    str_copy(a->gpus, sizeof(a->gpus), card->name);
    r->found.type_asked++;
    return 0;
}

static int read_nodes(const struct jobs_reading *r, struct arrival *a)
{
    a->nodes = 1;
    if (!*r->field[NNODES])
        return 0;
    if (!parse_int(r->field[NNODES], &a->nodes) || a->nodes < 0 ||
        a->nodes > CLUSTER_MAX_NODES)
        return err_set(r->err, ERR_FORMAT, "NNodes is \"%.40s\", want a number of nodes",
                       r->field[NNODES]);
    return 0;
}

/* Users get small numbers; what a user gives the same name is the same model. */
static void set_identity(struct jobs_reading *r, struct arrival *a)
{
    uint64_t user = hash_text(r->field[USER]);

    a->owner = intern_id(r->found.users, r->field[USER]);
    if (r->found.named)
        a->like = rng_mix(user, hash_text(r->field[JOB_NAME])) | 1;
}

/* 12, 12_3, 12_[4-9], 12+1 are jobs, 12.batch and 12_3.0 steps of them.  1: a job, 0: a
 * step, -1: neither. */
static int read_id(const struct jobs_reading *r)
{
    const char *id = r->field[JOB_ID];

    if (isdigit((unsigned char)*id))
        return strchr(id, '.') == NULL;
    return err_set(r->err, ERR_FORMAT, "JobID is \"%.40s\", want a number", id);
}

/* Counters and joules are no reason to refuse a list: what cannot be read is counted. */
static void read_counters(struct jobs_reading *r, struct slurm_job *job)
{
    enum jobstats_kind kind = JOBSTATS_ABSENT;
    struct jobstats stats;
    double joules, use, unused, held_gb;

    job->gpu_use = job->gpu_gb = job->consumed_j = NAN;
    if (parse_double(r->field[GPU_USE], &use) && use >= 0 && use <= 1 &&
        parse_double(r->field[UNUSED_GPUS], &unused) && unused >= 0 &&
        unused <= job->arrival.devices) {
        job->gpu_use = use;
        job->unused_gpus = (int)unused;
        if (parse_double(r->field[GPU_MEMORY], &held_gb) && held_gb >= 0)
            job->gpu_gb = held_gb;
        r->found.counted++;
    }
    if (jobstats_read(r->field[ADMIN_COMMENT], &kind, &stats, NULL) < 0)
        r->found.counted_damaged++;
    r->found.counted_short += kind == JOBSTATS_SHORT;
    if (kind == JOBSTATS_KNOWN && stats.gpus > 0) {
        job->gpu_use = stats.gpu_use;
        job->unused_gpus = stats.unused_gpus;
        job->gpu_gb = stats.gpu_gb;
        r->found.counted++;
    }
    /* 0 is what Slurm says where it has no meter. */
    if (parse_double(r->field[CONSUMED], &joules) && joules > 0 && joules < MAX_JOULES) {
        job->consumed_j = joules;
        r->found.metered++;
    }
    job->arrival.gpu_use = isnan(job->gpu_use) ? 0 : fmax(job->gpu_use, LEAST_USE);
}

/* What it was measured to do, and what it must: a daemon's record tells them.  Nobody is
 * taken to need more than those of whom nothing is told. */
static void read_rates(struct jobs_reading *r, struct slurm_job *job)
{
    double need;

    job->rate = NAN;
    if (!parse_double(r->field[RATE], &job->rate) || !(job->rate > 0)) {
        job->rate = NAN;
        return;
    }
    r->found.measured++;
    if (!parse_double(r->field[NEED], &need) || !(need > 0))
        return;
    job->arrival.share = fmin(need / job->rate, ARRIVALS_KEPT);
    r->found.needs_told++;
}

/* What its GPUs drew says how much it used them, unless counters say that. */
static void read_watts(struct jobs_reading *r, struct slurm_job *job)
{
    const struct gpu_sheet *card = gpu_find(job->arrival.ran_on);
    double watts;

    if (!card || !isnan(job->gpu_use) || !parse_double(r->field[WATTS], &watts) ||
        !(watts > 0))
        return;
    job->arrival.gpu_use = fmax(power_busy(card, watts), LEAST_USE);
    r->found.drew++;
}

static int read_line(struct jobs_reading *r, char *line)
{
    struct slurm_job job;
    int is_job;

    memset(&job, 0, sizeof(job));
    if (split(r, line) < 0 || (is_job = read_id(r)) < 0)
        return -1;
    if (!is_job) {
        r->found.steps++;
        return 0;
    }
    job.arrival.class = ARRIVAL_AS_IT_RAN;
    if (read_times(r, &job) < 0 || read_nodes(r, &job.arrival) < 0 ||
        read_gpus(r, &job.arrival) < 0)
        return -1;
    if (!(job.arrival.duration_s > 0)) {
        r->found.never_ran++;
        return 0;
    }
    if (job.arrival.devices == 0) {
        r->found.without_gpus++;
        return 0;
    }
    if (r->list.count == WORKLOAD_MAX_REQUESTS)
        return err_set(r->err, ERR_LIMIT, "more than %d jobs with GPUs; split the list",
                       WORKLOAD_MAX_REQUESTS);
    job.still_running = str_starts(r->field[STATE], "RUNNING");
    r->found.still_running += job.still_running;
    set_identity(r, &job.arrival);
    if (r->nodes)
        job.arrival.group = slurm_nodes_group(r->nodes, r->field[PARTITION]);
    r->found.bound += job.arrival.group > 0;
    read_counters(r, &job);
    read_rates(r, &job);
    read_watts(r, &job);
    job.hosts = mem_strdup(r->field[NODE_LIST]);
    job.arrival.record = r->list.count;
    vec_push(&r->list, job);
    return 0;
}

static int read_lines(struct jobs_reading *r, struct slurm_lines *lines)
{
    int more;
    char *line;

    more = slurm_lines_next(lines, &line, r->err);
    if (more == 0)
        return err_set(r->err, ERR_FORMAT, "%s is empty; make the list with sacct -P",
                       lines->name);
    if (more > 0 && read_header(r, line) < 0)
        return slurm_lines_refuse(lines, r->err);
    while (more > 0 && (more = slurm_lines_next(lines, &line, r->err)) > 0)
        if (read_line(r, line) < 0)
            return slurm_lines_refuse(lines, r->err);
    if (more == 0 && r->list.count == 0)
        return err_set(r->err, ERR_INFEASIBLE,
                       "%s holds no job that ran on a GPU: %zu had none, %zu never ran",
                       lines->name, r->found.without_gpus, r->found.never_ran);
    return more;
}

/* The text is changed. */
static int read_text(struct slurm_jobs *jobs, char *text, const char *name,
                     const struct slurm_nodes *nodes, const char *names, struct err *err)
{
    struct jobs_reading r = {
        .nodes = nodes, .names = names, .found.users = intern_create(), .err = err};
    struct slurm_lines lines;
    int rc;

    slurm_lines_init(&lines, text, name);
    rc = read_lines(&r, &lines);
    r.found.count = r.list.count;
    r.found.jobs = r.list.items;
    if (rc < 0)
        slurm_jobs_fini(&r.found);
    else
        *jobs = r.found;
    return rc;
}

int slurm_jobs_load(struct slurm_jobs *jobs, const char *path,
                    const struct slurm_nodes *nodes, const char *names, struct err *err)
{
    char *text;
    int rc;

    if (slurm_text_load(&text, path, err) < 0)
        return -1;
    rc = read_text(jobs, text, path, nodes, names, err);
    free(text);
    return rc;
}

static double end_s(const struct slurm_job *job)
{
    return job->start_s + job->arrival.duration_s;
}

void slurm_jobs_since(struct slurm_jobs *jobs, double since_s)
{
    double last_s = -INFINITY;
    size_t kept = 0;

    for (size_t i = 0; i < jobs->count; i++)
        last_s = fmax(last_s, end_s(&jobs->jobs[i]));
    for (size_t i = 0; since_s > 0 && i < jobs->count; i++) {
        struct slurm_job *job = &jobs->jobs[i];

        if (end_s(job) < last_s - since_s) {
            jobs->counted -= !isnan(job->gpu_use);
            jobs->metered -= !isnan(job->consumed_j);
            jobs->still_running -= job->still_running;
            jobs->before++;
            free(job->hosts);
            continue;
        }
        job->arrival.record = kept;
        jobs->jobs[kept++] = *job;
    }
    if (since_s > 0)
        jobs->count = kept;
}

void slurm_jobs_fini(struct slurm_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        free(jobs->jobs[i].hosts);
    free(jobs->jobs);
    intern_destroy(jobs->users);
    *jobs = (struct slurm_jobs){0};
}
