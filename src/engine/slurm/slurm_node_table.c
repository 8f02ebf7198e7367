/* slurm_node_table.c - slurm_engine.c hands over the helper's rows of nodes; the sink
 * hears what has changed; slurm_node_file.c keeps it, slurm_node_questions.c answers */
#include "engine/slurm/slurm_node_table.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/slurm/slurm_node_table_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Slurm does not tell of a host. */
#define HOST_WATTS  150.0
#define SLEEP_WATTS 10.0
#define WAKE_S      120.0
/* A node that does not wake is told again after so long. */
#define WAKE_AGAIN_S 60.0

/* ---- types ------------------------------------------------------------------------- */

int slurm_node_table_type_at(const struct slurm_node_table *t,
                             const struct gpu_sheet *sheet)
{
    for (size_t i = 0; i < t->types.count; i++)
        if (strcmp(t->types.items[i].name, sheet->name) == 0)
            return (int)i;
    return -1;
}

/* The number of a card, which is a new one while nobody has been given the cluster. */
int slurm_node_table_take_type(struct slurm_node_table *t, const struct gpu_sheet *sheet)
{
    int at = slurm_node_table_type_at(t, sheet);

    if (at >= 0 || t->live || t->types.count >= CLUSTER_MAX_TYPES)
        return at;
    vec_push(&t->types, *sheet);
    return (int)t->types.count - 1;
}

/* By the type of the resource, else by the first feature that names a card. */
static const struct gpu_sheet *card_of(const struct slurm_node_table *t,
                                       const struct slurm_node_row *row, const char *type)
{
    const struct gpu_sheet *card = slurm_gres_card(t->names, type, NULL);
    const char *features = row->features;
    char word[64];

    while (!card && str_next_word(&features, word, sizeof(word)))
        if (word[0])
            card = slurm_gres_card(t->names, word, NULL);
    return card;
}

uint64_t slurm_node_table_type(const struct slurm_node_table *t, const char *name)
{
    const struct gpu_sheet *card = slurm_gres_card(t->names, name, NULL);
    int at = card ? slurm_node_table_type_at(t, card) : -1;

    return at >= 0 ? (uint64_t)1 << at : 0;
}

/* ---- the cluster ------------------------------------------------------------------- */

static struct node_spec spec_of(const struct slurm_node_table *t,
                                const struct node_entry *n)
{
    return (struct node_spec){.name = n->name,
                              .type = n->types[0],
                              .types = n->types,
                              .device_count = n->device_count,
                              .host_watts = HOST_WATTS,
                              .sleep_watts = SLEEP_WATTS,
                              .wake_s = WAKE_S,
                              .may_sleep = t->sleeps && !t->kept_awake,
                              .room = n->room,
                              .share_most = n->share_most};
}

int slurm_node_table_count(const struct slurm_node_table *t)
{
    return (int)t->nodes.count;
}

int slurm_node_table_cluster(struct slurm_node_table *t, struct cluster **cluster,
                             struct err *err)
{
    if (t->nodes.count == 0)
        return err_set(err, ERR_NOT_FOUND, "Slurm has no node with a GPU that is known");
    *cluster = cluster_create(t->types.items, (int)t->types.count);
    vec_each (struct node_entry, n, &t->nodes) {
        struct node_spec spec = spec_of(t, n);
        struct node *node;

        cluster_add_node(*cluster, &spec);
        node = &(*cluster)->nodes[(*cluster)->node_count - 1];
        node->state = n->told == TOLD_UP        ? NODE_AWAKE
                      : n->told == TOLD_ASLEEP  ? NODE_ASLEEP
                      : n->told == TOLD_FALLING ? NODE_FALLING
                                                : NODE_DOWN;
        /* Nobody knows for how long, nor who is there: jobs are told later. */
        node->since_s = node->idle_since_s = clock_epoch_s();
        for (int i = 0; i < n->device_count; i++) {
            (*cluster)->devices[n->first_device + i].drained = n->drained;
            (*cluster)->devices[n->first_device + i].taken = n->stuck >> i & 1;
        }
        n->taken_told = n->stuck;
    }
    t->live = true;
    return 0;
}

static void tell(struct slurm_node_table *t, enum engine_event_kind kind, size_t node,
                 const char *text, double now_s)
{
    if (t->live)
        t->sink.event(t->sink.ctx,
                      &(struct engine_event){
                          .kind = kind, .at_s = now_s, .node = (int)node, .text = text});
}

/* ---- made and ended -----------------------------------------------------------------
 */

struct slurm_node_table *slurm_node_table_create(const struct slurm_node_options *options,
                                                 struct engine_sink sink)
{
    struct slurm_node_table *t = mem_new(struct slurm_node_table);

    t->sink = sink;
    t->kept_awake = options->kept_awake;
    t->path = options->path ? mem_strdup(options->path) : NULL;
    t->names = options->names ? mem_strdup(options->names) : NULL;
    if (t->path)
        slurm_node_table_load(t);
    return t;
}

void slurm_node_table_destroy(struct slurm_node_table *t)
{
    if (!t)
        return;
    free(t->path);
    free(t->names);
    vec_free(&t->nodes);
    vec_free(&t->types);
    vec_free(&t->warned);
    free(t);
}

/* ---- what the helper tells --------------------------------------------------------- */

/* Once a name. */
static void complain(struct slurm_node_table *t, const char *node, const char *what)
{
    uint64_t hash = hash_text(node);

    vec_each (uint64_t, known, &t->warned)
        if (*known == hash)
            return;
    vec_push(&t->warned, hash);
    log_warn("node_left_out", LOG_STR("node", node), LOG_STR("why", what));
}

/* GPUs of one type stand in a row, in the order Slurm lists the types. */
static bool read_gpus(struct slurm_node_table *t, const struct slurm_node_row *row,
                      struct node_entry *n)
{
    for (int k = 0; k <= row->gres.kinds; k++) {
        bool typed = k < row->gres.kinds;
        int count = typed ? row->gres.kind[k].count : row->gres.untyped;
        const struct gpu_sheet *card =
            count > 0 ? card_of(t, row, typed ? row->gres.kind[k].type : "") : NULL;
        int type = card ? slurm_node_table_take_type(t, card) : -1;

        if (count > 0 && !card) {
            complain(t, row->name,
                     "its GPU type is in no catalogue: name it in "
                     "slurm.types; `corgi gpus` lists what is known");
            return false;
        }
        if (count > 0 && type < 0) {
            complain(t, row->name,
                     "its GPU type is new: the daemon plans with it after "
                     "a restart");
            return false;
        }
        for (int i = 0; i < count && n->device_count < SLURM_MOST_GPUS; i++)
            n->types[n->device_count++] = type;
    }
    return n->device_count > 0;
}

static struct host_room room_of(const struct slurm_node_row *row)
{
    return (struct host_room){.cpus = row->cpus, .memory_gb = row->memory_mb / 1024};
}

/* Only parts of GPUs are shared. */
static int share_of(const struct slurm_node_row *row, int gpus)
{
    return row->gres.shards > gpus ? row->gres.shards / gpus : 1;
}

static bool pins_of(const struct slurm_node_row *row, int gpus)
{
    char name[16];

    for (int k = 0; k < row->gres.kinds; k++) {
        snprintf(name, sizeof(name), "g%d", k);
        if (row->gres.kind[k].count != 1 || strcmp(row->gres.kind[k].type, name) != 0)
            return false;
    }
    return row->gres.kinds == gpus;
}

static void add_node(struct slurm_node_table *t, const struct slurm_node_row *row,
                     double now_s)
{
    struct node_entry n = {.first_device = t->device_count,
                           .seen = true,
                           .room = room_of(row),
                           .watts = NAN};
    struct node_spec spec;

    str_copy(n.name, sizeof(n.name), row->name);
    if (t->nodes.count >= CLUSTER_MAX_NODES || !read_gpus(t, row, &n))
        return;
    n.share_most = share_of(row, n.device_count);
    t->device_count += n.device_count;
    vec_push(&t->nodes, n);
    t->changed = true;
    t->shared = t->shared || row->gres.shards > 0;
    if (!t->live)
        return;
    spec = spec_of(t, &n);
    t->sink.event(t->sink.ctx, &(struct engine_event){.kind = ENGINE_NODE_ADDED,
                                                      .at_s = now_s,
                                                      .node = (int)t->nodes.count - 1,
                                                      .spec = &spec});
}

static void set_told(struct slurm_node_table *t, size_t at, enum node_told now,
                     const char *text, double now_s)
{
    static const enum engine_event_kind kinds[] = {[TOLD_UP] = ENGINE_NODE_UP,
                                                   [TOLD_ASLEEP] = ENGINE_NODE_ASLEEP,
                                                   [TOLD_DOWN] = ENGINE_NODE_DOWN,
                                                   [TOLD_FALLING] = ENGINE_NODE_FALLING};

    if (t->nodes.items[at].told == now)
        return;
    t->nodes.items[at].told = now;
    tell(t, kinds[now], at, text, now_s);
}

static bool same_gpus(struct slurm_node_table *t, const struct slurm_node_row *row,
                      const struct node_entry *known)
{
    struct node_entry n = {0};

    return read_gpus(t, row, &n) && n.device_count == known->device_count &&
           memcmp(n.types, known->types, (size_t)n.device_count * sizeof(int)) == 0;
}

static void set_room(struct slurm_node_table *t, struct node_entry *n,
                     struct host_room room)
{
    if (n->room.cpus == room.cpus && n->room.memory_gb == room.memory_gb)
        return;
    n->room = room;
    n->room_changed = t->changed = true;
}

static void take_row(struct slurm_node_table *t, const struct slurm_node_row *row,
                     double now_s)
{
    struct node_entry *n = slurm_node_table_entry(t, row->name);
    size_t at;

    if (!n && row->gres.kinds == 0 && row->gres.untyped == 0)
        return; /* no GPUs: none of our business */
    if (!n)
        add_node(t, row, now_s);
    n = slurm_node_table_entry(t, row->name);
    if (!n)
        return;
    at = (size_t)(n - t->nodes.items);
    n->seen = true;
    if (!same_gpus(t, row, n)) {
        complain(t, row->name, "it has other GPUs than before: restart the daemon");
        set_told(t, at, TOLD_DOWN, "it has other GPUs than before", now_s);
        return;
    }
    set_told(t, at,
             row->down      ? TOLD_DOWN
             : row->asleep  ? TOLD_ASLEEP
             : row->falling ? TOLD_FALLING
                            : TOLD_UP,
             row->reason[0] ? row->reason : NULL, now_s);
    set_room(t, n, room_of(row));
    n->pins = pins_of(row, n->device_count);
    str_copy(n->address, sizeof(n->address), row->address);
    n->watts = row->watts;
    n->reserved = row->reserved;
    n->stuck = row->idle ? row->used : n->stuck & row->used;
    if (row->drained == n->drained)
        return;
    n->drained = row->drained;
    tell(t, row->drained ? ENGINE_NODE_DRAINED : ENGINE_NODE_UNDRAINED, at,
         row->reason[0] ? row->reason : "Slurm says so", now_s);
}

static void lose(struct slurm_node_table *t, size_t at, double now_s)
{
    set_told(t, at, TOLD_DOWN, "Slurm does not know it any more", now_s);
}

void slurm_node_table_take(struct slurm_node_table *t, const struct json_value *answer,
                           double now_s)
{
    const struct json_value *rows = json_value_get(answer, "rows"),
                            *gone = json_value_get(answer, "gone");
    bool fresh = json_member_bool(answer, "fresh", false);
    struct slurm_node_row row;

    if (fresh && t->whole) /* a helper that has just come tells all of them */
        for (size_t i = 0; i < t->nodes.count; i++)
            t->nodes.items[i].seen = false;
    t->whole = !fresh;
    for (size_t i = 0; i < json_value_count(rows); i++)
        if (slurm_answers_node(json_value_item(rows, i), &row))
            take_row(t, &row, now_s);
    for (size_t i = 0; i < json_value_count(gone); i++) {
        const char *name = json_value_string(json_value_item(gone, i));
        const struct node_entry *n = name ? slurm_node_table_entry(t, name) : NULL;

        if (n)
            lose(t, (size_t)(n - t->nodes.items), now_s);
    }
    if (fresh && !json_member_bool(answer, "more", false)) {
        for (size_t i = 0; i < t->nodes.count; i++)
            if (!t->nodes.items[i].seen)
                lose(t, i, now_s);
        t->whole = true;
    }
    slurm_node_table_tell_rooms(t, now_s);
    slurm_node_table_tell_taken(t, now_s);
    slurm_node_table_save(t);
}

/* ---- processors and memory --------------------------------------------------------- */

void slurm_node_table_use(struct slurm_node_table *t, int node, struct host_room more)
{
    struct node_entry *n = &t->nodes.items[node];

    n->taken.cpus += more.cpus;
    n->taken.memory_gb += more.memory_gb;
    n->room_changed = true;
}

/* 0 told: it bounds nothing. */
static double left_of(double all, double taken)
{
    return all > 0 ? fmax(0, all - taken) : INFINITY;
}

void slurm_node_table_tell_rooms(struct slurm_node_table *t, double now_s)
{
    for (size_t i = 0; i < t->nodes.count && t->live; i++) {
        struct node_entry *n = &t->nodes.items[i];

        if (!n->room_changed)
            continue;
        n->room_changed = false;
        t->sink.event(t->sink.ctx,
                      &(struct engine_event){
                          .kind = ENGINE_NODE_ROOM,
                          .at_s = now_s,
                          .node = (int)i,
                          .room = {left_of(n->room.cpus, n->taken.cpus),
                                   left_of(n->room.memory_gb, n->taken.memory_gb)}});
    }
}

void slurm_node_table_allow_sleep(struct slurm_node_table *t, bool allowed)
{
    t->changed = t->changed || t->sleeps != allowed;
    t->sleeps = allowed;
}

bool slurm_node_table_wake(struct slurm_node_table *t, int node, double now_s)
{
    struct node_entry *n = &t->nodes.items[node];

    if (now_s - n->woke_s <= WAKE_AGAIN_S)
        return false;
    n->woke_s = now_s;
    return true;
}

void slurm_node_table_sleep(struct slurm_node_table *t, int node)
{
    t->nodes.items[node].woke_s = 0;
}
