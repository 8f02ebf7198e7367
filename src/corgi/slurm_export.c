/* slurm_export.c - corgi slurm export and corgi advise ask the daemon for its record with
 * it; lab/traces/slurm.h reads the files */
#include "corgi/slurm_export.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "corgi/daemon.h"
#include "loop/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE      500
#define MOST_JOBS 1000 /* of which energy is told: those that drew most */
#define METERED   0.05 /* of a job's joules may be the model's */

/* "node1 gpu:v100-16:2,gpu:k80:1 150 a,b": devices of one type stand in a row. */
static void write_node(const struct json_value *node, struct str *out)
{
    const struct json_value *devices = json_value_get(node, "devices");
    const char *type = "";
    int run = 0;

    str_addf(out, "%s ", view_text_or(node, "name", ""));
    for (size_t i = 0; i < json_value_count(devices); i++) {
        const char *of = view_text_or(json_value_item(devices, i), "type", "");

        if (strcmp(of, type) != 0) {
            if (run > 0)
                str_addf(out, ":%d,", run);
            str_addf(out, "gpu:%s", of);
            type = of;
            run = 0;
        }
        run++;
    }
    str_addf(out, ":%d %.6g %s\n", run, fmax(0, view_number(node, "host_watts")),
             view_text_or(node, "partitions", ""));
}

static int write_nodes(const struct command_call *call, struct str *out)
{
    struct client_answer answer;
    const struct json_value *nodes;
    int status = daemon_send(call, HTTP_GET, "/v1/nodes", NULL, &answer);

    if (status)
        return status;
    nodes = json_value_get(daemon_root(&answer), "nodes");
    str_add(out, "NODELIST GRES HOST_WATTS PARTITION\n");
    for (size_t i = 0; i < json_value_count(nodes); i++)
        write_node(json_value_item(nodes, i), out);
    client_answer_fini(&answer);
    return 0;
}

/* Nothing that would end a column or a line. */
static void add_text(struct str *out, const char *text)
{
    for (; *text; text++)
        str_addf(out, "%c",
                 (unsigned char)*text < ' ' || strchr("|", *text) ? '_' : *text);
}

static void add_time(struct str *out, double at_s)
{
    if (at_s > 0) /* not NaN */
        str_addf(out, "|%.0f", at_s);
    else
        str_add(out, "|Unknown");
}

/* ---- what meters said --------------------------------------------------------------
 */

/* Joules of jobs that exporters or probes metered, by the job's number. */
struct metered_jobs {
    struct map *rows;
    vec_of(double) joules;
};

/* The exit status. */
static int ask_metered(const struct command_call *call, struct metered_jobs *m)
{
    struct str path = {0};
    struct client_answer answer;
    const struct json_value *rows;
    int status;

    str_add(&path, "/v1/energy");
    daemon_add_query(&path, "by", "job");
    daemon_add_count(&path, "limit", MOST_JOBS);
    status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    rows = json_value_get(daemon_root(&answer), "rows");
    for (size_t i = 0; i < json_value_count(rows); i++) {
        const struct json_value *row = json_value_item(rows, i);
        double job, joules = view_number(row, "joules");

        if (!(view_number(row, "modelled_share") <= METERED) || !(joules > 0) ||
            !parse_double(view_text_or(row, "key", ""), &job))
            continue;
        map_put(m->rows, (uint64_t)job, m->joules.count);
        vec_push(&m->joules, joules);
    }
    client_answer_fini(&answer);
    return 0;
}

/* ---- jobs --------------------------------------------------------------------------
 */

static void add_number(struct str *out, double value)
{
    if (value > 0) /* not NaN */
        str_addf(out, "|%.6g", value);
    else
        str_add(out, "|");
}

/* The rate it was measured to have, what it needs, and what each GPU drew, which is known
 * of one that ran once and had its GPUs alone. */
static void write_measured(const struct json_value *job, size_t gpus, struct str *out)
{
    double ran_s = view_number(job, "ended_s") - view_number(job, "placed_s");

    add_number(out, view_number(job, "mean_rate"));
    add_number(out, view_number(job, "required_rate"));
    add_number(out, view_number(job, "attempt") > 1 ||
                            json_member_bool(job, "part_of_gpu", false)
                        ? NAN
                        : view_number(job, "joules") / ran_s / (double)gpus);
}

/* A job that had GPUs, as sacct would tell it. */
static void write_job(const struct json_value *job, const struct metered_jobs *metered,
                      struct str *out)
{
    static const struct {
        const char *ours, *slurms;
    } states[] = {{"done", "COMPLETED"},
                  {"failed", "FAILED"},
                  {"cancelled", "CANCELLED"},
                  {"running", "RUNNING"}};
    const struct json_value *devices = json_value_get(job, "devices");
    size_t count = json_value_count(devices);
    struct str nodes = {0};
    const char *last = "", *state = "RUNNING";
    int node_count = 0;
    size_t row;

    for (size_t i = 0; i < count; i++) {
        const char *node = view_text_or(json_value_item(devices, i), "node", "");

        if (strcmp(node, last) == 0)
            continue;
        str_addf(&nodes, "%s%s", node_count++ ? "," : "", node);
        last = node;
    }
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(view_text_or(job, "state", ""), states[i].ours) == 0)
            state = states[i].slurms;
    str_addf(out, "%.0f|", view_number(job, "id"));
    add_text(out, view_text_or(job, "user", ""));
    str_add(out, "|");
    add_text(out, view_text_or(job, "name", ""));
    add_time(out, view_number(job, "submitted_s"));
    add_time(out, view_number(job, "placed_s"));
    add_time(out, view_number(job, "ended_s"));
    if (json_member_bool(job, "part_of_gpu", false))
        str_add(out, "|gres/shard=1");
    else
        str_addf(out, "|gres/gpu:%s=%zu,gres/gpu=%zu",
                 view_text_or(json_value_item(devices, 0), "type", ""), count, count);
    str_addf(out, "|%d|%s|%s|", node_count, str_text(&nodes), state);
    if (view_number(job, "gpu_use") >= 0) /* not NaN */
        str_addf(out, "%.6g|%.0f|", view_number(job, "gpu_use"),
                 view_number(job, "unused_gpus"));
    else
        str_add(out, "||");
    if (view_number(job, "gpu_memory_gb") >= 0)
        str_addf(out, "%.6g", view_number(job, "gpu_memory_gb"));
    str_add(out, "|");
    add_text(out, view_text_or(job, "partition", ""));
    str_add(out, "|");
    if (map_get(metered->rows, (uint64_t)view_number(job, "id"), &row))
        str_addf(out, "%.6g", metered->joules.items[row]);
    write_measured(job, count, out);
    str_add(out, "\n");
    str_fini(&nodes);
}

/* Page after page, newest first; the exit status. */
static int write_jobs(const struct command_call *call, double from_s,
                      const struct metered_jobs *metered, struct str *out,
                      size_t *written)
{
    struct str path = {0}, after = {0};
    bool older = false;
    int status;

    str_add(out, "JobID|User|JobName|Submit|Start|End|AllocTRES|NNodes|NodeList|State|"
                 "GpuUse|UnusedGpus|GpuMemoryGb|Partition|ConsumedEnergyRaw|Rate|Need|"
                 "Watts\n");
    do {
        struct client_answer answer;
        const struct json_value *jobs;
        const char *next;

        str_clear(&path);
        str_add(&path, "/v1/jobs");
        daemon_add_query(&path, "order", "newest");
        daemon_add_count(&path, "limit", PAGE);
        daemon_add_query(&path, "after", after.length ? str_text(&after) : NULL);
        status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
        if (status)
            break;
        jobs = json_value_get(daemon_root(&answer), "jobs");
        for (size_t i = 0; i < json_value_count(jobs); i++) {
            const struct json_value *job = json_value_item(jobs, i);

            older = view_number(job, "submitted_s") < from_s;
            if (older || json_value_count(json_value_get(job, "devices")) == 0)
                continue;
            write_job(job, metered, out);
            ++*written;
        }
        next = json_value_count(jobs) ? json_member_string(daemon_root(&answer), "next")
                                      : NULL;
        str_clear(&after);
        str_add(&after, next ? next : "");
        client_answer_fini(&answer);
    } while (after.length && !older);
    str_fini(&path);
    str_fini(&after);
    return status;
}

static int save(const char *folder, const char *name, const struct str *text,
                struct err *err)
{
    char *path = file_join(folder, name);
    int rc = file_make_dirs(folder, err) < 0
                 ? -1
                 : file_write(path, text->text, text->length, err);

    free(path);
    return rc;
}

int slurm_export_write(const struct command_call *call, double since_s,
                       const char *folder, size_t *written)
{
    double from_s = since_s > 0 ? clock_epoch_s() - since_s : 0;
    struct metered_jobs metered = {.rows = map_create()};
    struct str nodes = {0}, jobs = {0};
    struct err err = {0};
    int status = write_nodes(call, &nodes);

    *written = 0;
    if (status == 0)
        status = ask_metered(call, &metered);
    if (status == 0)
        status = write_jobs(call, from_s, &metered, &jobs, written);
    if (status == 0 && (save(folder, SLURM_EXPORT_NODES, &nodes, &err) < 0 ||
                        save(folder, SLURM_EXPORT_JOBS, &jobs, &err) < 0))
        status = command_failed(call, &err);
    map_destroy(metered.rows);
    vec_free(&metered.joules);
    str_fini(&nodes);
    str_fini(&jobs);
    return status;
}
