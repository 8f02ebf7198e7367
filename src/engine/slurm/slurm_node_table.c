/* slurm_node_table.c - slurm_engine.c hands over the helper's rows of nodes; the sink
 * hears what has changed, slurm_job_table.c asks for devices */
#include "engine/slurm/slurm_node_table.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Slurm does not tell of a host. */
#define HOST_WATTS  150.0
#define SLEEP_WATTS 10.0
#define WAKE_S      120.0

#define FILE_BYTES  ((size_t)16 << 20)

enum node_told { TOLD_UP, TOLD_ASLEEP, TOLD_DOWN, TOLD_FALLING };

struct node_entry {
    char name[SLURM_NAME_SIZE];
    int first_device, device_count;
    int types[SLURM_MOST_GPUS];
    enum node_told told;
    bool drained, reserved;
    bool seen;              /* in the look that is being told */
    struct host_room room;  /* 0: not told */
    struct host_room taken; /* of it by jobs without GPUs */
    bool room_changed;      /* since it was told */
    int share_most;         /* jobs a GPU takes at once */
    bool pins;              /* its GPUs are g0, g1... */
    char address[SLURM_ADDRESS_SIZE];
    double watts; /* as Slurm meters it; NaN: it does not */
};

struct slurm_node_table {
    struct engine_sink sink;
    struct slurm_access *access; /* not ours */
    char *path, *names;
    vec_of(struct node_entry) nodes; /* in the order of the cluster */
    vec_of(struct gpu_sheet) types;
    int device_count;
    bool live;  /* the cluster was given: changes are told */
    bool whole; /* all nodes have been told since the helper came */
    bool sleeps, kept_awake;
    bool shared;
    bool changed;            /* since the file was written */
    vec_of(uint64_t) warned; /* hashes of names that were complained of */
};

/* ---- types ------------------------------------------------------------------------- */

static int type_at(const struct slurm_node_table *t, const struct gpu_sheet *sheet)
{
    for (size_t i = 0; i < t->types.count; i++)
        if (strcmp(t->types.items[i].name, sheet->name) == 0)
            return (int)i;
    return -1;
}

/* The number of a card, which is a new one while nobody has been given the cluster. */
static int take_type(struct slurm_node_table *t, const struct gpu_sheet *sheet)
{
    int at = type_at(t, sheet);

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
    int at = card ? type_at(t, card) : -1;

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
        for (int i = 0; i < n->device_count; i++)
            (*cluster)->devices[n->first_device + i].drained = n->drained;
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

/* ---- what was known ---------------------------------------------------------------- */

static void save(struct slurm_node_table *t)
{
    struct str text = {0};
    struct json_out out;
    struct err err = {0};

    if (!t->changed || !t->path)
        return;
    json_out_init(&out, &text, true);
    json_out_begin_object(&out);
    json_out_key_int(&out, "version", 1);
    json_out_key_bool(&out, "sleeps", t->sleeps);
    json_out_key_bool(&out, "shared", t->shared);
    json_out_key_array(&out, "nodes");
    vec_each (struct node_entry, n, &t->nodes) {
        json_out_begin_object(&out);
        json_out_key_string(&out, "name", n->name);
        json_out_key_number(&out, "cpus", n->room.cpus);
        json_out_key_number(&out, "memory_gb", n->room.memory_gb);
        json_out_key_int(&out, "share", n->share_most);
        json_out_key_array(&out, "gpus");
        for (int i = 0; i < n->device_count; i++)
            json_out_string(&out, t->types.items[n->types[i]].name);
        json_out_end(&out);
        json_out_end(&out);
    }
    json_out_end(&out);
    json_out_end(&out);
    if (file_write(t->path, text.text, text.length, &err) < 0)
        log_warn("cluster_not_kept", LOG_ERR(&err));
    else
        t->changed = false;
    str_fini(&text);
}

static void add_known(struct slurm_node_table *t, const struct json_value *row)
{
    const struct json_value *gpus = json_value_get(row, "gpus");
    const char *name = json_member_string(row, "name");
    struct node_entry n = {
        .first_device = t->device_count,
        .room = {fmax(json_member_number(row, "cpus", 0), 0),
                 fmax(json_member_number(row, "memory_gb", 0), 0)},
        .watts = NAN,
        .share_most = (int)fmin(fmax(json_member_number(row, "share", 0), 0), 1000)};
    size_t count = json_value_count(gpus);

    if (!name || count == 0 || count > SLURM_MOST_GPUS ||
        !str_copy(n.name, sizeof(n.name), name))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *type = json_value_string(json_value_item(gpus, i));
        const struct gpu_sheet *card = type ? gpu_find(type) : NULL;
        int at = card ? take_type(t, card) : -1;

        if (at < 0)
            return;
        n.types[i] = at;
    }
    n.device_count = (int)count;
    t->device_count += n.device_count;
    vec_push(&t->nodes, n);
}

static void load(struct slurm_node_table *t)
{
    const struct json_value *nodes;
    struct json_doc *doc;
    char *text;
    size_t count;
    struct err err = {0};

    if (file_read(t->path, FILE_BYTES, &text, &count, &err) < 0)
        return;
    if (json_doc_parse(&doc, text, count, t->path, &err) < 0) {
        log_warn("cluster_not_known", LOG_ERR(&err));
    } else {
        t->sleeps = json_member_bool(json_doc_root(doc), "sleeps", false);
        t->shared = json_member_bool(json_doc_root(doc), "shared", false);
        nodes = json_value_get(json_doc_root(doc), "nodes");
        for (size_t i = 0; i < json_value_count(nodes) && i < CLUSTER_MAX_NODES; i++)
            add_known(t, json_value_item(nodes, i));
        json_doc_destroy(doc);
    }
    free(text);
}

struct slurm_node_table *slurm_node_table_create(const struct slurm_node_options *options,
                                                 struct engine_sink sink)
{
    struct slurm_node_table *t = mem_new(struct slurm_node_table);

    t->sink = sink;
    t->kept_awake = options->kept_awake;
    t->path = options->path ? mem_strdup(options->path) : NULL;
    t->names = options->names ? mem_strdup(options->names) : NULL;
    if (t->path)
        load(t);
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

static struct node_entry *find(const struct slurm_node_table *t, const char *name)
{
    for (size_t i = 0; i < t->nodes.count; i++)
        if (strcmp(t->nodes.items[i].name, name) == 0)
            return &t->nodes.items[i];
    return NULL;
}

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
        int type = card ? take_type(t, card) : -1;

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
    struct node_entry *n = find(t, row->name);
    size_t at;

    if (!n && row->gres.kinds == 0 && row->gres.untyped == 0)
        return; /* no GPUs: none of our business */
    if (!n)
        add_node(t, row, now_s);
    n = find(t, row->name);
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
        const struct node_entry *n = name ? find(t, name) : NULL;

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
    save(t);
}

/* ---- processors and memory --------------------------------------------------------- */

int slurm_node_table_find(const struct slurm_node_table *t, const char *name)
{
    const struct node_entry *n = find(t, name);

    return n ? (int)(n - t->nodes.items) : -1;
}

void slurm_node_table_use(struct slurm_node_table *t, int node, struct host_room more)
{
    struct node_entry *n = &t->nodes.items[node];

    n->taken.cpus += more.cpus;
    n->taken.memory_gb += more.memory_gb;
    n->room_changed = true;
}

int slurm_node_table_span(const struct slurm_node_table *t, int node, int *first)
{
    *first = t->nodes.items[node].first_device;
    return t->nodes.items[node].device_count;
}

void slurm_node_table_name(const struct slurm_node_table *t, int node, const char **name,
                           const char **address)
{
    const struct node_entry *n = &t->nodes.items[node];

    *name = n->name;
    *address = n->address[0] ? n->address : n->name;
}

double slurm_node_table_watts(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].watts;
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

int slurm_node_table_of(const struct slurm_node_table *t, int device, int *first)
{
    size_t n = 0;

    while (n + 1 < t->nodes.count && t->nodes.items[n + 1].first_device <= device)
        n++;
    *first = t->nodes.items[n].first_device;
    return (int)n;
}

enum slurm_node_stands slurm_node_table_stands(const struct slurm_node_table *t, int node)
{
    enum node_told told = t->nodes.items[node].told;

    return told == TOLD_UP     ? SLURM_NODE_UP
           : told == TOLD_DOWN ? SLURM_NODE_DOWN
                               : SLURM_NODE_SLEEPS;
}

bool slurm_node_table_reserved(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].reserved;
}

bool slurm_node_table_live(const struct slurm_node_table *t)
{
    return t->live;
}

void slurm_node_table_set_access(struct slurm_node_table *t, struct slurm_access *access)
{
    t->access = access;
}

struct slurm_access *slurm_node_table_access(const struct slurm_node_table *t)
{
    return t->access;
}

bool slurm_node_table_pins(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].pins;
}

int slurm_node_table_shares(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].share_most;
}

bool slurm_node_table_shared(const struct slurm_node_table *t)
{
    return t->shared;
}

int slurm_node_table_devices(const struct slurm_node_table *t, const char *node,
                             uint64_t gpus, int wanted, int *devices, int count)
{
    const struct node_entry *n = find(t, node);

    for (int i = 0; n && i < n->device_count && count < LOOP_MAX_GANG; i++)
        if (gpus ? gpus >> i & 1 : i < wanted)
            devices[count++] = n->first_device + i;
    return count;
}
