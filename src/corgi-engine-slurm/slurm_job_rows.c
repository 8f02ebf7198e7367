/* slurm_job_rows.c - the jobs of Slurm as rows, for slurm_source.h
 *
 * A job is told by what it asked for, where it sits and how it stands; what moves by
 * itself (priorities, expected starts, reasons of waiting) is left out, or every row
 * would be new in every look.  An element of an array is a job of its own from the
 * beginning, named ARRAY_ELEMENT, though Slurm keeps those that wait in one record. */
#include "corgi-engine-slurm/slurm_source.h"

#include "base/mem.h"
#include "corgi-engine-slurm/slurm_words.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of one array that wait; Slurm's own limit is 1,000 unless it was raised. */
#define MOST_ELEMENTS 10000
#define MOST_HOSTS    4096
#define NAME_SIZE     64

static void write_user(struct json_out *out, const slurm_job_info_t *j)
{
    char name[NAME_SIZE], memory[4096];
    struct passwd entry, *found = NULL;

    json_out_key_int(out, "uid", j->user_id);
    json_out_key_int(out, "gid", j->group_id);
    if (j->user_name) {
        json_out_key_string(out, "user", j->user_name);
        return;
    }
    if (getpwuid_r(j->user_id, &entry, memory, sizeof(memory), &found) == 0 && found)
        snprintf(name, sizeof(name), "%s", found->pw_name);
    else
        snprintf(name, sizeof(name), "%u", j->user_id);
    json_out_key_string(out, "user", name);
}

/* The nodes one by one, in the order gres_detail_str has. */
static void write_nodes(struct json_out *out, const slurm_job_info_t *j)
{
    hostlist_t hosts = j->nodes ? slurm_hostlist_create(j->nodes) : NULL;
    char *host;
    int count = 0;

    json_out_key_array(out, "nodes");
    while (hosts && count++ < MOST_HOSTS && (host = slurm_hostlist_shift(hosts))) {
        json_out_string(out, host);
        free(host);
    }
    json_out_end(out);
    if (hosts)
        slurm_hostlist_destroy(hosts);
    json_out_key_array(out, "gres");
    for (uint32_t i = 0; i < j->gres_detail_cnt && i < MOST_HOSTS; i++)
        json_out_string(out, j->gres_detail_str[i] ? j->gres_detail_str[i] : "");
    json_out_end(out);
}

static void write_wish(struct json_out *out, const slurm_job_info_t *j)
{
    bool by_cpu = j->pn_min_memory != NO_VAL64 && (j->pn_min_memory & MEM_PER_CPU);
    bool endless = j->time_limit == INFINITE || j->time_limit == NO_VAL;

    json_out_key_string(out, "tres_per_job", j->tres_per_job);
    json_out_key_string(out, "tres_per_node", j->tres_per_node);
    json_out_key_string(out, "tres_per_task", j->tres_per_task);
    json_out_key_string(out, "tres_per_socket", j->tres_per_socket);
    json_out_key_int(out, "num_nodes", j->num_nodes);
    json_out_key_int(out, "num_tasks", j->num_tasks);
    json_out_key_int(out, "cpus", j->num_cpus);
    json_out_key_number(out, by_cpu ? "memory_mb_cpu" : "memory_mb_node",
                        (double)(j->pn_min_memory & ~MEM_PER_CPU));
    json_out_key_number(out, "limit_s", endless ? 0 : 60.0 * j->time_limit);
    json_out_key_string(out, "features", j->features);
    json_out_key_string(out, "req_nodes", j->req_nodes);
    json_out_key_bool(out, "held", j->priority == 0);
    if (j->priority == 0 && j->state_desc && strstr(j->state_desc, "launch failed"))
        json_out_key_bool(out, "launch_failed",
                          true);         /* Slurm holds it, and nobody else */
    if (j->dependency && *j->dependency) /* what of it is not fulfilled yet */
        json_out_key_string(out, "dependency", j->dependency);
}

/* Times are of the past alone: what Slurm expects moves with every look. */
static void write_times(struct json_out *out, const slurm_job_info_t *j, bool element)
{
    uint32_t state = j->job_state & JOB_STATE_BASE;
    bool began = !element && state != JOB_PENDING && j->start_time > 0;
    int status = (int)j->exit_code;

    json_out_key_int(out, "submit_s", j->submit_time);
    json_out_key_int(out, "restarts", j->restart_cnt);
    if (began)
        json_out_key_int(out, "start_s", j->start_time);
    if (state < JOB_COMPLETE)
        return;
    json_out_key_int(out, "end_s", j->end_time);
    json_out_key_int(out, "exit_status", (status >> 8) & 0xff);
    json_out_key_int(out, "signal", status & 0x7f);
}

static void add_row(struct table_rows *rows, const slurm_job_info_t *j, const char *id,
                    bool element)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "id", id);
    json_out_key_string(&out, "state", slurm_words_job(j->job_state));
    slurm_words_job_flags(&out, j->job_state);
    json_out_key_string(&out, "name", j->name);
    write_user(&out, j);
    json_out_key_string(&out, "partition", j->partition);
    json_out_key_string(&out, "account", j->account);
    json_out_key_string(&out, "qos", j->qos);
    json_out_key_string(&out, "reservation", j->resv_name);
    json_out_key_string(&out, "command", j->command);
    json_out_key_string(&out, "directory", j->work_dir);
    json_out_key_string(&out, "comment", j->comment);
    json_out_key_string(&out, "admin_comment", j->admin_comment);
    write_times(&out, j, element);
    write_wish(&out, j);
    write_nodes(&out, j);
    json_out_end(&out);
    rows_add_take(rows, id, str_take(&text));
}

static void add_element(struct table_rows *rows, const slurm_job_info_t *j,
                        unsigned long number)
{
    char id[48];

    snprintf(id, sizeof(id), "%u_%lu", j->array_job_id, number);
    add_row(rows, j, id, true);
}

/* "0-3,7,8-20:4%2" */
static void add_elements(struct table_rows *rows, const slurm_job_info_t *j)
{
    char *at = j->array_task_str;
    int count = 0;

    while (*at >= '0' && *at <= '9') {
        unsigned long first = strtoul(at, &at, 10), last = first, step = 1;

        if (*at == '-')
            last = strtoul(at + 1, &at, 10);
        if (*at == ':')
            step = strtoul(at + 1, &at, 10);
        for (unsigned long n = first; n <= last && count++ < MOST_ELEMENTS;
             n += step ? step : 1)
            add_element(rows, j, n);
        at += *at == ',';
    }
}

static void add_job(struct table_rows *rows, const slurm_job_info_t *j)
{
    char id[48];

    if (j->array_job_id && j->array_task_str) {
        add_elements(rows, j);
        return;
    }
    if (j->array_job_id && j->array_task_id == NO_VAL)
        return; /* what is left of an array whose elements are all told */
    if (j->array_job_id)
        snprintf(id, sizeof(id), "%u_%u", j->array_job_id, j->array_task_id);
    else
        snprintf(id, sizeof(id), "%u", j->job_id);
    add_row(rows, j, id, false);
}

int slurm_source_jobs(struct table_rows *rows, time_t *since, struct err *err)
{
    job_info_msg_t *msg = NULL;

    slurm_source_ready();
    if (slurm_load_jobs(*since, &msg, SHOW_ALL | SHOW_DETAIL)) {
        if (errno == SLURM_NO_CHANGE_IN_DATA)
            return 1;
        return err_set(err, ERR_SYSTEM, "Slurm does not tell its jobs: %s",
                       slurm_strerror(errno));
    }
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (msg->job_array[i].job_id)
            add_job(rows, &msg->job_array[i]);
    *since = msg->last_update;
    slurm_free_job_info_msg(msg);
    return 0;
}
