/* slurm_answers.c - slurm_node_table.c and slurm_job_table.c read rows with it */
#include "engine/slurm/slurm_answers.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

#define TIME_MAX  4e9
#define MB_MAX    1e9
#define WATTS_MAX 1e5

static double number(const struct json_value *row, const char *key, double most)
{
    double n = json_member_number(row, key, 0);

    return n >= 0 && n <= most ? n : 0; /* NaN: 0 */
}

static bool has(const struct json_value *row, const char *flag)
{
    const struct json_value *flags = json_value_get(row, "flags");

    for (size_t i = 0; i < json_value_count(flags) && i < 64; i++) {
        const char *word = json_value_string(json_value_item(flags, i));

        if (word && strcmp(word, flag) == 0)
            return true;
    }
    return false;
}

/* ---- nodes ------------------------------------------------------------------------- */

/* A name is a part of names of devices and stands in lists with commas. */
static bool good_name(const char *name, size_t size)
{
    return name && name[0] && strlen(name) < size && !strpbrk(name, ",: \t\n\"/");
}

bool slurm_answers_node(const struct json_value *row, struct slurm_node_row *node)
{
    const char *name = json_member_string(row, "name"),
               *state = json_member_string(row, "state"),
               *gres = json_member_string(row, "gres"),
               *features = json_member_string(row, "features"),
               *reason = json_member_string(row, "reason"),
               *used = json_member_string(row, "gres_used"),
               *address = json_member_string(row, "address");
    struct slurm_node_row n = {0};

    if (!good_name(name, sizeof(n.name)) || !state)
        return false;
    if (gres && slurm_gres_read(&n.gres, gres, NULL) < 0)
        return false;
    str_copy(n.name, sizeof(n.name), name);
    str_copy(n.features, sizeof(n.features), features ? features : "");
    str_copy(n.reason, sizeof(n.reason), reason ? reason : "");
    str_copy(n.address, sizeof(n.address),
             good_name(address, sizeof(n.address)) ? address : name);
    n.watts = number(row, "watts", WATTS_MAX);
    if (!(n.watts > 0))
        n.watts = NAN;
    n.cpus = (int)number(row, "cpus", 1e6);
    n.memory_mb = number(row, "memory_mb", MB_MAX);
    n.asleep =
        has(row, "powered_down") || has(row, "powering_up") || has(row, "power_up");
    n.falling = !n.asleep && (has(row, "powering_down") || has(row, "power_down"));
    n.down =
        !n.asleep && !n.falling &&
        (!strcmp(state, "down") || !strcmp(state, "unknown") || !strcmp(state, "error") ||
         !strcmp(state, "future") || has(row, "no_respond") || has(row, "invalid"));
    n.drained =
        has(row, "drain") || has(row, "fail") || has(row, "maint") || has(row, "reboot");
    n.reserved = has(row, "reserved");
    n.idle = !strcmp(state, "idle") && !has(row, "completing");
    n.used = used ? slurm_gres_used(used) : 0;
    *node = n;
    return true;
}

/* ---- jobs -------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum slurm_job_stands stands;
} states[] = {
    {"pending", SLURM_JOB_WAITS},       {"running", SLURM_JOB_RUNS},
    {"suspended", SLURM_JOB_RUNS},      {"completed", SLURM_JOB_DONE},
    {"cancelled", SLURM_JOB_CANCELLED}, {"failed", SLURM_JOB_FAILED},
    {"timeout", SLURM_JOB_TIMEOUT},     {"deadline", SLURM_JOB_TIMEOUT},
    {"node_fail", SLURM_JOB_FAILED},    {"preempted", SLURM_JOB_CANCELLED},
    {"boot_fail", SLURM_JOB_FAILED},    {"out_of_memory", SLURM_JOB_FAILED},
};

static bool stands_of(const struct json_value *row, struct slurm_job_row *j)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i].word, j->state) == 0) {
            j->stands = states[i].stands;
            /* Slurm shows the end while the last process is still being looked for. */
            if (j->stands >= SLURM_JOB_DONE && has(row, "completing") && j->start_s > 0)
                j->stands = SLURM_JOB_RUNS;
            return true;
        }
    return false;
}

static void times(struct slurm_gres *g, double factor)
{
    factor = fmin(fmax(factor, 1), 1e4);
    for (int k = 0; k < g->kinds; k++)
        g->kind[k].count = (int)fmin(g->kind[k].count * factor, 1e6);
    g->untyped = (int)fmin(g->untyped * factor, 1e6);
    g->shards = (int)fmin(g->shards * factor, 1e6);
}

/* What it asks for may be told of the whole job, of a node, a socket or a task. */
static bool read_wish(const struct json_value *row, struct slurm_job_row *j)
{
    static const char *const keys[] = {"tres_per_job", "tres_per_node", "tres_per_task",
                                       "tres_per_socket"};
    double factors[] = {1, j->num_nodes, number(row, "num_tasks", 1e6), j->num_nodes};

    for (int i = 0; i < 4; i++) {
        const char *text = json_member_string(row, keys[i]);

        if (!text || (!strstr(text, "gpu") && !strstr(text, "shard")))
            continue;
        if (slurm_gres_read(&j->wish, text, NULL) < 0)
            return false;
        if (i == 1 && j->wish.shards == 0 && j->wish.kinds + (j->wish.untyped > 0) == 1)
            j->node_gpus = j->wish.kinds ? j->wish.kind[0].count : j->wish.untyped;
        times(&j->wish, factors[i]);
        return true;
    }
    return true;
}

static void read_hosts(const struct json_value *row, struct slurm_job_row *j)
{
    const struct json_value *nodes = json_value_get(row, "nodes"),
                            *gres = json_value_get(row, "gres");
    size_t count = json_value_count(nodes);

    for (size_t i = 0; i < count && i < SLURM_MOST_HOSTS; i++) {
        const char *name = json_value_string(json_value_item(nodes, i));
        const char *detail = json_value_string(json_value_item(gres, i));

        if (!good_name(name, SLURM_NAME_SIZE))
            continue;
        j->hosts[j->host_count].node = name;
        j->hosts[j->host_count++].gpus = detail ? slurm_gres_indices(detail) : 0;
    }
}

static void read_texts(const struct json_value *row, struct slurm_job_row *j)
{
    j->name = json_member_string(row, "name");
    j->partition = json_member_string(row, "partition");
    j->account = json_member_string(row, "account");
    j->qos = json_member_string(row, "qos");
    j->reservation = json_member_string(row, "reservation");
    j->command = json_member_string(row, "command");
    j->directory = json_member_string(row, "directory");
    j->admin_comment = json_member_string(row, "admin_comment");
    j->features = json_member_string(row, "features");
}

bool slurm_answers_job(const struct json_value *row, struct slurm_job_row *job)
{
    const char *id = json_member_string(row, "id");
    struct slurm_job_row j = {.state = json_member_string(row, "state"),
                              .user = json_member_string(row, "user")};

    if (!good_name(id, sizeof(j.id)) || !j.state || !good_name(j.user, SLURM_NAME_SIZE))
        return false;
    str_copy(j.id, sizeof(j.id), id);
    j.submit_s = number(row, "submit_s", TIME_MAX);
    j.start_s = number(row, "start_s", TIME_MAX);
    j.end_s = number(row, "end_s", TIME_MAX);
    j.limit_s = number(row, "limit_s", TIME_MAX);
    j.restarts = (int)number(row, "restarts", 1e6);
    j.exit_status = (int)number(row, "exit_status", 255);
    j.signal = (int)number(row, "signal", 127);
    j.held = json_member_bool(row, "held", false);
    j.launch_failed = json_member_bool(row, "launch_failed", false);
    j.completing = has(row, "completing");
    j.depends = json_member_string(row, "dependency");
    j.uid = (uint32_t)number(row, "uid", UINT32_MAX);
    j.gid = (uint32_t)number(row, "gid", UINT32_MAX);
    j.cpus = (int)number(row, "cpus", 1e6);
    j.num_nodes = (int)fmax(1, number(row, "num_nodes", 1e5));
    j.memory_mb = fmax(number(row, "memory_mb_cpu", MB_MAX) * j.cpus,
                       number(row, "memory_mb_node", MB_MAX) * j.num_nodes);
    read_texts(row, &j);
    if (j.submit_s <= 0 || !stands_of(row, &j) || !read_wish(row, &j))
        return false;
    read_hosts(row, &j);
    *job = j;
    return true;
}

bool slurm_job_wants_gpus(const struct slurm_job_row *j)
{
    return j->wish.kinds > 0 || j->wish.untyped > 0 || j->wish.shards > 0;
}
