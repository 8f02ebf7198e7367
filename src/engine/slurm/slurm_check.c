/* slurm_check.c - corgi/cmd_slurm.c prints what this finds */
#include "engine/slurm/slurm_check.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/slurm/slurm_answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An end that Slurm forgets sooner than this may be missed by a daemon that restarts. */
#define MIN_JOB_AGE_S 60.0
/* Time a checkpoint has before Slurm kills. */
#define KILL_WAIT_S 30.0

const char *slurm_verdict_name(enum slurm_verdict verdict)
{
    static const char *const names[] = {"fine", "note", "for control", "for advice"};

    return names[verdict];
}

static void find(slurm_findings *to, enum slurm_verdict verdict, const char *setting,
                 const char *value, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void find(slurm_findings *to, enum slurm_verdict verdict, const char *setting,
                 const char *value, const char *format, ...)
{
    struct slurm_finding f = {.verdict = verdict};
    va_list args;

    str_copy(f.setting, sizeof(f.setting), setting);
    str_copy(f.value, sizeof(f.value), value && *value ? value : "-");
    va_start(args, format);
    vsnprintf(f.why, sizeof(f.why), format, args);
    va_end(args);
    vec_push(to, f);
}

static const char *text(const struct json_value *conf, const char *key)
{
    const char *value = json_member_string(conf, key);

    return value ? value : "";
}

/* ---- what advice needs ------------------------------------------------------------- */

static bool is_private(const struct json_value *conf, const char *what)
{
    const struct json_value *list = json_value_get(conf, "PrivateData");

    for (size_t i = 0; i < json_value_count(list); i++) {
        const char *word = json_value_string(json_value_item(list, i));

        if (word && strcmp(word, what) == 0)
            return true;
    }
    return false;
}

static void check_reading(const struct json_value *conf, slurm_findings *to)
{
    double age_s = json_member_number(conf, "MinJobAge", 0);
    bool jobs = is_private(conf, "jobs"), nodes = is_private(conf, "nodes");
    char value[40];

    if (jobs || nodes)
        find(to, SLURM_ADVICE, "PrivateData", jobs ? "jobs" : "nodes",
             "hides what belongs to others without an error: let the helper run as "
             "SlurmUser (slurm.helper: unix:PATH), or take it out");
    else
        find(to, SLURM_FINE, "PrivateData", "", "all jobs and nodes can be read");
    snprintf(value, sizeof(value), "%.0f s", age_s);
    if (age_s < MIN_JOB_AGE_S)
        find(
            to, SLURM_ADVICE, "MinJobAge", value,
            "Slurm forgets an ended job so soon that a daemon which is away for a moment "
            "does not learn how it ended: 300 is Slurm's default");
    else
        find(to, SLURM_FINE, "MinJobAge", value,
             "ends are seen before they are forgotten");
    if (str_in_list(text(conf, "GresTypes"), ',', "gpu"))
        find(to, SLURM_FINE, "GresTypes", text(conf, "GresTypes"), "Slurm counts GPUs");
    else
        find(to, SLURM_ADVICE, "GresTypes", text(conf, "GresTypes"),
             "Slurm does not count GPUs: gpu must be in it, and in gres.conf");
    if (strstr(text(conf, "AccountingStorageTRES"), "gres/gpu"))
        find(to, SLURM_FINE, "AccountingStorageTRES", "gres/gpu",
             "sacct tells the GPUs of past jobs");
    else
        find(to, SLURM_NOTE, "AccountingStorageTRES", "",
             "without gres/gpu `corgi advise --from-slurm` learns of past jobs' GPUs "
             "from ReqTRES alone");
}

/* ---- what control needs ------------------------------------------------------------ */

static void want(slurm_findings *to, bool fine, const char *setting, const char *value,
                 const char *good, const char *bad)
{
    find(to, fine ? SLURM_FINE : SLURM_CONTROL, setting, value, "%s", fine ? good : bad);
}

static void check_power(const struct json_value *conf, slurm_findings *to)
{
    double after_s = json_member_number(conf, "SuspendTime", -1);
    const char *suspend = text(conf, "SuspendProgram"),
               *resume = text(conf, "ResumeProgram");
    char value[40];

    want(to, *suspend && *resume, "SuspendProgram", suspend,
         "nodes can be switched off and on",
         "without SuspendProgram and ResumeProgram no node can sleep");
    snprintf(value, sizeof(value), "%.0f", after_s);
    want(to, after_s > 0, "SuspendTime", after_s > 0 ? value : "INFINITE",
         "power control is on",
         "INFINITE switches power control off, also for others: a large number does not");
}

static void check_placing(const struct json_value *conf, slurm_findings *to)
{
    const char *select = text(conf, "SelectType"),
               *plugins = text(conf, "JobSubmitPlugins"),
               *how = text(conf, "SchedulerParameters");
    double wait_s = json_member_number(conf, "KillWait", 0);
    char value[40];

    want(to, !strcmp(select, "select/cons_tres"), "SelectType", select,
         "GPUs can be given one by one", "GPUs are placed only by select/cons_tres");
    want(to, json_member_bool(conf, "SelectMemory", false), "SelectTypeParameters", "",
         "memory of hosts is counted",
         "memory of hosts is not counted: use one of the CR_..._Memory");
    want(to, str_in_list(text(conf, "GresTypes"), ',', "shard"), "GresTypes",
         text(conf, "GresTypes"), "GPUs can be shared",
         "without shard no GPU can be shared by two jobs");
    want(to, str_in_list(plugins, ',', "corgi"), "JobSubmitPlugins", plugins,
         "jobs of managed partitions are held for Corgi",
         "job_submit/corgi holds what users hand in with sbatch");
    want(to, strstr(how, "batch_sched_delay=0"), "SchedulerParameters", how,
         "a released job starts within a second",
         "with batch_sched_delay=0 a released job starts within a second, else in three");
    want(to, json_member_bool(conf, "JobRequeue", false), "JobRequeue",
         json_member_bool(conf, "JobRequeue", false) ? "1" : "0", "jobs can be moved",
         "a job that may not be requeued cannot be moved");
    snprintf(value, sizeof(value), "%.0f s", wait_s);
    want(to, wait_s >= KILL_WAIT_S, "KillWait", value, "time for a checkpoint",
         "a job that is moved has so long for its checkpoint: 30 is Slurm's default");
}

/* The books that the helper's request `ended` reads. */
static void check_books(const struct json_value *conf, slurm_findings *to)
{
    const char *store = text(conf, "AccountingStorageType"),
               *comp = text(conf, "JobCompType");
    bool file = strstr(comp, "filetxt"), slurmdbd = strstr(store, "slurmdbd");

    if (!file && !slurmdbd) {
        find(to, SLURM_CONTROL, "JobCompType", comp,
             "a job whose end Slurm forgot (MinJobAge) while the daemon was away ends as "
             "unknown and is not run again: jobcomp/filetxt, or slurmdbd as "
             "AccountingStorageType, would tell how it ended");
        return;
    }
    if (file)
        find(to, SLURM_FINE, "JobCompType", comp,
             "tells ends that Slurm has forgotten, where the helper can read its file");
    else
        find(to, SLURM_NOTE, "JobCompType", comp,
             "is not jobcomp/filetxt: slurmdbd alone tells ends that Slurm has "
             "forgotten");
    if (slurmdbd)
        find(to, SLURM_FINE, "AccountingStorageType", store,
             "tells ends that Slurm has forgotten, while slurmdbd answers");
    else
        find(to, SLURM_NOTE, "AccountingStorageType", store,
             "is not slurmdbd: jobcomp/filetxt alone tells ends that Slurm has "
             "forgotten");
}

static void check_ends(const struct json_value *conf, slurm_findings *to)
{
    check_books(conf, to);
    if (strstr(text(conf, "PreemptType"), "none") || !*text(conf, "PreemptType"))
        find(to, SLURM_FINE, "PreemptType", text(conf, "PreemptType"),
             "nobody else stops jobs");
    else
        find(to, SLURM_NOTE, "PreemptType", text(conf, "PreemptType"),
             "Slurm may stop jobs that Corgi placed");
    find(to, SLURM_NOTE, "TaskProlog", text(conf, "TaskProlog"), "%s",
         *text(conf, "TaskProlog") ? "is there: the probe's has to be called from it"
                                   : "the probe's measures jobs that are not wrapped");
}

void slurm_check_conf(const struct json_value *conf, slurm_findings *to)
{
    find(to, SLURM_FINE, "ClusterName", text(conf, "ClusterName"), "Slurm %s, %s",
         text(conf, "Version"), text(conf, "SlurmConf"));
    check_reading(conf, to);
    check_placing(conf, to);
    check_power(conf, to);
    check_ends(conf, to);
}

/* ---- nodes ------------------------------------------------------------------------- */

#define KINDS_MOST 32

struct kind_seen {
    char type[SLURM_TYPE_SIZE];
    const struct gpu_sheet *card;
    int nodes, gpus;
};

struct slurm_nodes_seen {
    struct kind_seen list[KINDS_MOST];
    int count;
    int nodes, shared, without;
};

/* By the type of the resource, else by a feature, as the engine does. */
static const struct gpu_sheet *card_of(const struct slurm_node_row *row, const char *type,
                                       const char *names)
{
    const struct gpu_sheet *card = slurm_gres_card(names, type, NULL);
    const char *features = row->features;
    char word[64];

    while (!card && str_next_word(&features, word, sizeof(word)))
        if (word[0])
            card = slurm_gres_card(names, word, NULL);
    return card;
}

static void note_kind(struct slurm_nodes_seen *seen, const struct slurm_node_row *row,
                      const char *type, int gpus, const char *names)
{
    int k = 0;

    while (k < seen->count && strcmp(seen->list[k].type, type) != 0)
        k++;
    if (k == KINDS_MOST || gpus == 0)
        return;
    if (k == seen->count) {
        str_copy(seen->list[k].type, SLURM_TYPE_SIZE, type);
        seen->list[k].card = card_of(row, type, names);
        seen->count++;
    }
    seen->list[k].nodes++;
    seen->list[k].gpus += gpus;
}

struct slurm_nodes_seen *slurm_nodes_seen_create(void)
{
    return mem_new(struct slurm_nodes_seen);
}

void slurm_nodes_seen_destroy(struct slurm_nodes_seen *seen)
{
    free(seen);
}

void slurm_nodes_seen_add(struct slurm_nodes_seen *seen, const struct json_value *rows,
                          const char *names)
{
    struct slurm_node_row row;

    for (size_t i = 0; i < json_value_count(rows); i++) {
        if (!slurm_answers_node(json_value_item(rows, i), &row))
            continue;
        if (row.gres.kinds == 0 && row.gres.untyped == 0) {
            seen->without++;
            continue;
        }
        seen->nodes++;
        seen->shared += row.gres.shards > 0;
        for (int k = 0; k < row.gres.kinds; k++)
            note_kind(seen, &row, row.gres.kind[k].type, row.gres.kind[k].count, names);
        note_kind(seen, &row, "", row.gres.untyped, names);
    }
}

void slurm_check_nodes(const struct slurm_nodes_seen *seen, slurm_findings *to)
{
    char value[120];

    for (int k = 0; k < seen->count; k++) {
        const struct kind_seen *kind = &seen->list[k];

        snprintf(value, sizeof(value), "%.40s: %d GPUs on %d nodes",
                 kind->type[0] ? kind->type : "without a type", kind->gpus, kind->nodes);
        if (kind->card)
            find(to, SLURM_FINE, "GPU type", value, "is %s", kind->card->title);
        else
            find(
                to, SLURM_ADVICE, "GPU type", value,
                "is not in the catalogue (`corgi gpus`): say slurm.types: {%.40s: CARD}; "
                "its nodes are left out",
                kind->type[0] ? kind->type : "gpu");
    }
    snprintf(value, sizeof(value), "%d with GPUs, %d without", seen->nodes,
             seen->without);
    if (seen->nodes == 0)
        find(to, SLURM_ADVICE, "Nodes", value, "no node has a GPU");
    else
        want(to, seen->shared == seen->nodes, "Nodes", value, "all of them have shards",
             "nodes without shards in their Gres are not shared");
}
