/* slurm_source.c - worker threads of helper_server.c ask here for settings and tables;
 * rows of jobs are in slurm_job_rows.c */
#include "corgi-engine-slurm/slurm_source.h"

#include "base/mem.h"
#include "corgi-engine-slurm/slurm_words.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_once_t ready = PTHREAD_ONCE_INIT;

static void make_ready(void)
{
    slurm_init(NULL);
}

void slurm_source_ready(void)
{
    pthread_once(&ready, make_ready);
}

void slurm_source_prepare(void)
{
    /* Lists of array elements are told whole, not cut at 64 characters. */
    setenv("SLURM_BITSTR_LEN", "0", 1);
}

const char *slurm_source_version(void)
{
    static char text[32];

    snprintf(text, sizeof(text), "%02d.%02d.%d",
             SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    return text;
}

/* 1: unchanged; -1: what Slurm says. */
static int failed(const char *what, struct err *err)
{
    int number = errno;

    if (number == SLURM_NO_CHANGE_IN_DATA)
        return 1;
    return err_set(err, ERR_SYSTEM, "Slurm does not tell its %s: %s", what,
                   slurm_strerror(number));
}

/* ---- settings ---------------------------------------------------------------------- */

static void write_private(struct json_out *out, uint16_t bits)
{
    json_out_key_array(out, "PrivateData");
    if (bits & PRIVATE_DATA_JOBS)
        json_out_string(out, "jobs");
    if (bits & PRIVATE_DATA_NODES)
        json_out_string(out, "nodes");
    if (bits & PRIVATE_DATA_PARTITIONS)
        json_out_string(out, "partitions");
    if (bits & PRIVATE_DATA_RESERVATIONS)
        json_out_string(out, "reservations");
    if (bits & PRIVATE_CLOUD_NODES)
        json_out_string(out, "cloud");
    json_out_end(out);
}

static void write_power(struct json_out *out, const slurm_conf_t *c)
{
    bool endless = c->suspend_time == INFINITE || c->suspend_time == NO_VAL;

    json_out_key_string(out, "SuspendProgram", c->suspend_program);
    json_out_key_string(out, "ResumeProgram", c->resume_program);
    json_out_key_number(out, "SuspendTime", endless ? -1 : (double)c->suspend_time);
    json_out_key_int(out, "SuspendTimeout", c->suspend_timeout);
    json_out_key_int(out, "ResumeTimeout", c->resume_timeout);
}

static void write_conf(struct json_out *out, const slurm_conf_t *c)
{
    json_out_key_string(out, "ClusterName", c->cluster_name);
    json_out_key_string(out, "Version", c->version);
    json_out_key_string(out, "SlurmConf", c->slurm_conf);
    json_out_key_string(out, "SlurmUser", c->slurm_user_name);
    json_out_key_int(out, "BootTime", c->boot_time);
    json_out_key_int(out, "MinJobAge", c->min_job_age);
    json_out_key_int(out, "KillWait", c->kill_wait);
    json_out_key_int(out, "SlurmdTimeout", c->slurmd_timeout);
    json_out_key_bool(out, "JobRequeue", c->job_requeue);
    json_out_key_string(out, "GresTypes", c->gres_plugins);
    json_out_key_string(out, "SelectType", c->select_type);
    json_out_key_bool(out, "SelectMemory", c->select_type_param & CR_MEMORY);
    json_out_key_string(out, "SchedulerType", c->schedtype);
    json_out_key_string(out, "SchedulerParameters", c->sched_params);
    json_out_key_string(out, "PriorityType", c->priority_type);
    json_out_key_string(out, "PreemptType", c->preempt_type);
    json_out_key_string(out, "JobSubmitPlugins", c->job_submit_plugins);
    json_out_key_string(out, "TaskProlog", c->task_prolog);
    json_out_key_string(out, "TaskPlugin", c->task_plugin);
    json_out_key_string(out, "ProctrackType", c->proctrack_type);
    json_out_key_string(out, "AccountingStorageType", c->accounting_storage_type);
    json_out_key_string(out, "AccountingStorageTRES", c->accounting_storage_tres);
    json_out_key_string(out, "AcctGatherEnergyType", c->acct_gather_energy_type);
    json_out_key_string(out, "JobCompType", c->job_comp_type);
    write_private(out, c->private_data);
    write_power(out, c);
}

int slurm_source_conf(struct json_out *out, struct err *err)
{
    slurm_conf_t *conf = NULL;

    slurm_source_ready();
    if (slurm_load_ctl_conf(0, &conf))
        return failed("configuration", err);
    write_conf(out, conf);
    slurm_free_ctl_conf(conf);
    return 0;
}

/* ---- nodes, partitions, reservations ---------------------------------------------- */

static void begin(struct json_out *out, struct str *text)
{
    json_out_init(out, text, false);
    json_out_begin_object(out);
}

static void add(struct table_rows *rows, const char *key, struct json_out *out,
                struct str *text)
{
    json_out_end(out);
    rows_add_take(rows, key, str_take(text));
}

static void add_node(struct table_rows *rows, const node_info_t *n)
{
    struct str text = {0};
    struct json_out out;

    begin(&out, &text);
    json_out_key_string(&out, "name", n->name);
    json_out_key_string(&out, "state", slurm_words_node(n->node_state));
    slurm_words_node_flags(&out, n->node_state);
    json_out_key_string(&out, "gres", n->gres);
    json_out_key_string(&out, "gres_drain", n->gres_drain);
    json_out_key_string(&out, "gres_used", n->gres_used);
    json_out_key_string(&out, "features", n->features);
    json_out_key_int(&out, "cpus", n->cpus_efctv ? n->cpus_efctv : n->cpus);
    json_out_key_number(&out, "memory_mb", (double)n->real_memory);
    json_out_key_string(&out, "address", n->node_addr);
    json_out_key_string(&out, "reason", n->reason);
    if (n->energy && n->energy->current_watts > 0 && n->energy->current_watts != NO_VAL)
        json_out_key_int(&out, "watts", n->energy->current_watts);
    add(rows, n->name, &out, &text);
}

/* A node that has fallen asleep counts as unchanged in slurmctld: all are asked for at
 * least this often. */
#define NODES_ANEW_S 5

int slurm_source_nodes(struct table_rows *rows, time_t *since, struct err *err)
{
    node_info_msg_t *msg = NULL;
    time_t known = time(NULL) - *since < NODES_ANEW_S ? *since : 0;

    slurm_source_ready();
    if (slurm_load_node(known, &msg, SHOW_ALL | SHOW_DETAIL))
        return failed("nodes", err);
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (msg->node_array[i].name)
            add_node(rows, &msg->node_array[i]);
    *since = msg->last_update;
    slurm_free_node_info_msg(msg);
    return 0;
}

static void add_partition(struct table_rows *rows, const partition_info_t *p)
{
    struct str text = {0};
    struct json_out out;

    begin(&out, &text);
    json_out_key_string(&out, "name", p->name);
    json_out_key_bool(&out, "up", (p->state_up & PARTITION_SCHED) != 0);
    json_out_key_bool(&out, "default", p->flags & PART_FLAG_DEFAULT);
    json_out_key_string(&out, "nodes", p->nodes);
    json_out_key_number(&out, "limit_s",
                        p->max_time == INFINITE ? 0 : 60.0 * p->max_time);
    json_out_key_string(&out, "accounts", p->allow_accounts);
    json_out_key_string(&out, "qos", p->allow_qos);
    json_out_key_string(&out, "deny_accounts", p->deny_accounts);
    json_out_key_string(&out, "deny_qos", p->deny_qos);
    add(rows, p->name, &out, &text);
}

int slurm_source_partitions(struct table_rows *rows, time_t *since, struct err *err)
{
    partition_info_msg_t *msg = NULL;

    slurm_source_ready();
    if (slurm_load_partitions(*since, &msg, SHOW_ALL))
        return failed("partitions", err);
    for (uint32_t i = 0; i < msg->record_count; i++)
        add_partition(rows, &msg->partition_array[i]);
    *since = msg->last_update;
    slurm_free_partition_info_msg(msg);
    return 0;
}

static void add_reservation(struct table_rows *rows, const reserve_info_t *r)
{
    struct str text = {0};
    struct json_out out;

    begin(&out, &text);
    json_out_key_string(&out, "name", r->name);
    json_out_key_string(&out, "nodes", r->node_list);
    json_out_key_int(&out, "start_s", r->start_time);
    json_out_key_int(&out, "end_s", r->end_time);
    json_out_key_string(&out, "users", r->users);
    json_out_key_string(&out, "accounts", r->accounts);
    json_out_key_bool(&out, "maintenance", (r->flags & RESERVE_FLAG_MAINT) != 0);
    add(rows, r->name, &out, &text);
}

int slurm_source_reservations(struct table_rows *rows, time_t *since, struct err *err)
{
    reserve_info_msg_t *msg = NULL;

    slurm_source_ready();
    if (slurm_load_reservations(*since, &msg))
        return failed("reservations", err);
    for (uint32_t i = 0; i < msg->record_count; i++)
        add_reservation(rows, &msg->reservation_array[i]);
    *since = msg->last_update;
    slurm_free_reservation_info_msg(msg);
    return 0;
}
