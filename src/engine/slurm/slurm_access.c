/* slurm_access.c - slurm_engine.c hands over the helper's rows of partitions and
 * reservations; slurm_found.c asks for the group of a job, the sink hears which nodes the
 * groups have */
#include "engine/slurm/slurm_access.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/slurm/slurm_hosts.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX 4e9
/* Nobody has so many: a helper that tells more is not believed. */
#define SETS_MOST 4096

/* A partition or a reservation. */
struct node_set {
    char name[SLURM_NAME_SIZE];
    char *hosts; /* as Slurm writes them */
    bool *has;   /* (nodes of the cluster) */
    /* Of a partition: */
    bool up; /* its jobs may start */
    double limit_s;
    char *accounts, *qos;       /* that it takes; NULL: all but */
    char *no_accounts, *no_qos; /* these */
    /* Of a reservation: */
    double start_s, end_s;
};

struct node_sets {
    vec_of(struct node_set) list;
    bool partial; /* the first look is being told */
};

struct group {
    char *partitions; /* with commas between */
    char reservation[SLURM_NAME_SIZE];
    double told_end_s;
};

struct node_told {
    struct node_access access;
    uint64_t partitions; /* hash of their names */
};

struct slurm_access {
    struct slurm_node_table *nodes;
    struct engine_sink sink;
    struct node_sets partitions, reservations;
    bool known;   /* the partitions have been told */
    bool stale;   /* what sets have is to be worked out anew */
    bool full;    /* there are too many groups: it was said */
    double now_s; /* of the last answer */
    int group_count;
    struct group groups[LOOP_NODE_GROUPS]; /* from 1 on; see LOOP_NOWHERE */
    vec_of(struct node_told) told;         /* (nodes) */
};

struct slurm_access *slurm_access_create(struct slurm_node_table *nodes,
                                         struct engine_sink sink)
{
    struct slurm_access *a = mem_new(struct slurm_access);

    a->nodes = nodes;
    a->sink = sink;
    a->group_count = 1;
    return a;
}

static void end_set(struct node_set *set)
{
    free(set->hosts);
    free(set->has);
    free(set->accounts);
    free(set->qos);
    free(set->no_accounts);
    free(set->no_qos);
}

static void clear(struct node_sets *sets)
{
    vec_each (struct node_set, set, &sets->list)
        end_set(set);
    vec_clear(&sets->list);
}

void slurm_access_destroy(struct slurm_access *a)
{
    if (!a)
        return;
    clear(&a->partitions);
    clear(&a->reservations);
    vec_free(&a->partitions.list);
    vec_free(&a->reservations.list);
    for (int g = 1; g < a->group_count; g++)
        free(a->groups[g].partitions);
    vec_free(&a->told);
    free(a);
}

bool slurm_access_known(const struct slurm_access *a)
{
    return a->known;
}

/* ---- rows -------------------------------------------------------------------------- */

static struct node_set *find(const struct node_sets *sets, const char *name)
{
    vec_each (struct node_set, set, &sets->list)
        if (strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

/* NULL: nothing is told, or it is no bound. */
static char *words(const struct json_value *row, const char *key)
{
    const char *text = json_member_string(row, key);

    return text && *text && strcmp(text, "ALL") != 0 ? mem_strdup(text) : NULL;
}

static double number(const struct json_value *row, const char *key)
{
    double n = json_member_number(row, key, 0);

    return n >= 0 && n <= TIME_MAX ? n : 0; /* NaN: 0 */
}

static void take_row(struct node_sets *sets, const struct json_value *row)
{
    const char *name = json_member_string(row, "name");
    struct node_set set = {0}, *old;

    if (!name || !*name || !str_copy(set.name, sizeof(set.name), name) ||
        sets->list.count >= SETS_MOST)
        return;
    set.hosts = words(row, "nodes");
    set.up = json_member_bool(row, "up", false);
    set.limit_s = number(row, "limit_s");
    set.accounts = words(row, "accounts");
    set.qos = words(row, "qos");
    set.no_accounts = words(row, "deny_accounts");
    set.no_qos = words(row, "deny_qos");
    set.start_s = number(row, "start_s");
    set.end_s = number(row, "end_s");
    old = find(sets, name);
    if (!old) {
        vec_push(&sets->list, set);
        return;
    }
    end_set(old);
    *old = set;
}

static void drop(struct node_sets *sets, const char *name)
{
    struct node_set *set = find(sets, name);

    if (!set)
        return;
    end_set(set);
    *set = sets->list.items[--sets->list.count];
}

/* True: the look is complete. */
static bool take(struct slurm_access *a, struct node_sets *sets,
                 const struct json_value *answer)
{
    const struct json_value *rows = json_value_get(answer, "rows"),
                            *gone = json_value_get(answer, "gone");
    bool fresh = json_member_bool(answer, "fresh", false),
         more = json_member_bool(answer, "more", false);

    if (fresh && !sets->partial)
        clear(sets);
    sets->partial = fresh && more;
    for (size_t i = 0; i < json_value_count(rows); i++)
        take_row(sets, json_value_item(rows, i));
    for (size_t i = 0; i < json_value_count(gone); i++) {
        const char *name = json_value_string(json_value_item(gone, i));

        if (name)
            drop(sets, name);
    }
    a->stale = true;
    return !more;
}

void slurm_access_take_partitions(struct slurm_access *a, const struct json_value *answer,
                                  double now_s)
{
    if (!take(a, &a->partitions, answer))
        return;
    a->known = true;
    slurm_access_tell(a, now_s);
}

void slurm_access_take_reservations(struct slurm_access *a,
                                    const struct json_value *answer, double now_s)
{
    if (take(a, &a->reservations, answer))
        slurm_access_tell(a, now_s);
}

/* ---- what the groups have ---------------------------------------------------------- */

struct marking {
    const struct slurm_access *access;
    bool *has;
};

static bool mark_host(void *ctx, const char *host)
{
    const struct marking *m = ctx;
    int node = slurm_node_table_find(m->access->nodes, host);

    if (node >= 0)
        m->has[node] = true;
    return true;
}

static void work_out(const struct slurm_access *a, const struct node_sets *sets,
                     int nodes)
{
    vec_each (struct node_set, set, &sets->list) {
        struct marking m = {a, mem_array(bool, (size_t)nodes + 1)};
        struct err err = {0};

        if (set->hosts &&
            slurm_hosts(set->hosts, CLUSTER_MAX_NODES, mark_host, &m, &err) < 0)
            log_warn("slurm_hosts_unknown", LOG_STR("of", set->name), LOG_ERR(&err));
        free(set->has);
        set->has = m.has;
    }
}

/* A group of a reservation has its nodes while it lasts. */
static bool has(const struct slurm_access *a, const struct group *g, int node,
                double now_s)
{
    const struct node_set *r =
        g->reservation[0] ? find(&a->reservations, g->reservation) : NULL;
    const char *names = g->partitions;
    char name[SLURM_NAME_SIZE];

    if (g->reservation[0] &&
        (!r || !r->has[node] || now_s < r->start_s || now_s >= r->end_s))
        return false;
    while (str_next_word(&names, name, sizeof(name))) {
        const struct node_set *p = find(&a->partitions, name);

        if (p && p->up && p->has[node])
            return true;
    }
    return false;
}

/* When the next reservation of the node begins, or began; 0: it has none.  One that Slurm
 * does not show us is there all the same. */
static double reserved_s(const struct slurm_access *a, int node, double now_s)
{
    double first_s = INFINITY;

    vec_each (const struct node_set, r, &a->reservations.list)
        if (r->has[node] && now_s < r->end_s)
            first_s = fmin(first_s, fmax(r->start_s, 1));
    if (slurm_node_table_reserved(a->nodes, node))
        first_s = fmin(first_s, now_s);
    return isfinite(first_s) ? first_s : 0;
}

static void tell_ends(struct slurm_access *a, double now_s)
{
    for (int i = 1; i < a->group_count; i++) {
        struct group *g = &a->groups[i];
        const struct node_set *r =
            g->reservation[0] ? find(&a->reservations, g->reservation) : NULL;
        double end_s = r ? r->end_s : 0;

        if (end_s == g->told_end_s)
            continue;
        g->told_end_s = end_s;
        a->sink.event(a->sink.ctx, &(struct engine_event){.kind = ENGINE_GROUP_ENDS,
                                                          .at_s = now_s,
                                                          .group = i,
                                                          .ends_s = end_s});
    }
}

static void tell_node(struct slurm_access *a, int node, double now_s)
{
    struct node_access now = {.reserved_s = reserved_s(a, node, now_s)};
    struct node_told *was = &a->told.items[node];
    struct str names = {0};
    uint64_t hash;

    for (int g = 1; g < a->group_count; g++)
        if (has(a, &a->groups[g], node, now_s))
            now.groups |= (uint64_t)1 << g;
    vec_each (const struct node_set, p, &a->partitions.list)
        if (p->has[node])
            str_addf(&names, "%s%s", names.length ? "," : "", p->name);
    hash = hash_text(str_text(&names));
    if (now.groups != was->access.groups || now.reserved_s != was->access.reserved_s ||
        hash != was->partitions) {
        *was = (struct node_told){now, hash};
        a->sink.event(a->sink.ctx, &(struct engine_event){.kind = ENGINE_NODE_ACCESS,
                                                          .at_s = now_s,
                                                          .node = node,
                                                          .access = now,
                                                          .text = str_text(&names)});
    }
    str_fini(&names);
}

void slurm_access_tell(struct slurm_access *a, double now_s)
{
    int nodes = slurm_node_table_count(a->nodes);

    a->now_s = now_s;
    if (!slurm_node_table_live(a->nodes) || a->partitions.partial ||
        a->reservations.partial)
        return;
    if (a->stale || (size_t)nodes != a->told.count) {
        work_out(a, &a->partitions, nodes);
        work_out(a, &a->reservations, nodes);
        a->stale = false;
    }
    while (a->told.count < (size_t)nodes)
        vec_push(&a->told, (struct node_told){0});
    tell_ends(a, now_s);
    for (int n = 0; n < nodes; n++)
        tell_node(a, n, now_s);
}

/* ---- jobs -------------------------------------------------------------------------- */

static bool takes(const char *these, const char *not_these, const char *word)
{
    if (!word)
        return true;
    if (these)
        return str_in_list(these, ',', word);
    return !not_these || !str_in_list(not_these, ',', word);
}

/* The next of the job's partitions that is known. */
static const struct node_set *next_partition(const struct slurm_access *a,
                                             const char **names)
{
    char name[SLURM_NAME_SIZE];

    while (str_next_word(names, name, sizeof(name))) {
        const struct node_set *p = find(&a->partitions, name);

        if (p)
            return p;
    }
    return NULL;
}

static int intern(struct slurm_access *a, const char *partitions, const char *reservation)
{
    struct group g = {.partitions = NULL};

    str_copy(g.reservation, sizeof(g.reservation), reservation);
    for (int i = 1; i < a->group_count; i++)
        if (strcmp(a->groups[i].partitions, partitions) == 0 &&
            strcmp(a->groups[i].reservation, g.reservation) == 0)
            return i;
    if (a->group_count == LOOP_NOWHERE) {
        if (!a->full)
            log_warn("slurm_too_many_groups", LOG_I64("groups", a->group_count),
                     LOG_STR("text", "jobs of further combinations of partitions and "
                                     "reservations are planned on all nodes until the "
                                     "daemon is started again"));
        a->full = true;
        return 0;
    }
    g.partitions = mem_strdup(partitions);
    a->groups[a->group_count++] = g;
    slurm_access_tell(a, a->now_s);
    return a->group_count - 1;
}

int slurm_access_group(struct slurm_access *a, const struct slurm_job_row *row)
{
    const char *names = row->partition;
    const struct node_set *p;
    struct str open = {0};
    bool any = false;
    int group;

    if (!a)
        return 0;
    while ((p = next_partition(a, &names))) {
        any = true;
        if (takes(p->accounts, p->no_accounts, row->account) &&
            takes(p->qos, p->no_qos, row->qos))
            str_addf(&open, "%s%s", open.length ? "," : "", p->name);
    }
    if (!any) /* hidden from us: nothing is known of where it may be */
        group = 0;
    else if (open.length == 0)
        group = LOOP_NOWHERE;
    else
        group = intern(a, open.text, row->reservation ? row->reservation : "");
    str_fini(&open);
    return group;
}

double slurm_access_limit_s(const struct slurm_access *a, const struct slurm_job_row *row)
{
    const char *names = row->partition;
    const struct node_set *p;
    double longest_s = 0;

    if (row->limit_s > 0 || !a)
        return row->limit_s;
    while ((p = next_partition(a, &names))) {
        if (p->limit_s <= 0)
            return 0;
        longest_s = fmax(longest_s, p->limit_s);
    }
    return longest_s;
}
