/* what_if.c - see what_if.h */
#include "lab/sim/what_if.h"

#include "base/parse.h"
#include "base/vec.h"
#include "loop/cluster.h"

#include <assert.h>
#include <string.h>

/* A cluster as lists that can be changed. */
struct draft {
    vec_of(struct gpu_sheet) types;
    vec_of(struct node_spec) nodes; /* names borrowed from the old cluster */
};

struct count_of {
    const struct gpu_sheet *gpu; /* NULL: nothing */
    int count;
};

static void load(struct draft *d, const struct cluster *c)
{
    for (int t = 0; t < c->type_count; t++)
        vec_push(&d->types, c->types[t]);
    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        vec_push(&d->nodes,
                 (struct node_spec){.name = node->name,
                                    .type = c->devices[node->first_device].type,
                                    .device_count = node->device_count,
                                    .host_watts = node->host_watts,
                                    .sleep_watts = node->sleep_watts,
                                    .wake_s = node->wake_s,
                                    .may_sleep = node->may_sleep});
    }
}

static int wrong(const char *text, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "'%s' is not of the form k80:8=l4:2 (cards out = cards in)", text);
}

/* "k80:8", or nothing. */
static int read_count(const char *text, size_t length, struct count_of *out,
                      struct err *err)
{
    char copy[96], *colon;
    int count;

    *out = (struct count_of){0};
    if (length == 0)
        return 0;
    if (length >= sizeof(copy))
        return wrong(text, err);
    memcpy(copy, text, length);
    copy[length] = '\0';
    colon = strchr(copy, ':');
    if (!colon || !parse_int(colon + 1, &count) || count < 1 ||
        count > CLUSTER_MAX_DEVICES)
        return wrong(copy, err);
    *colon = '\0';
    out->gpu = gpu_find(copy);
    out->count = count;
    if (!out->gpu)
        return err_set(err, ERR_NOT_FOUND,
                       "no GPU '%s' in the catalogue; 'corgi gpus' lists what is known",
                       copy);
    return 0;
}

static int take_out(struct draft *d, const struct count_of *what, struct node_spec *like,
                    struct err *err)
{
    int left = what->count;

    assert(d->types.items); /* a cluster has types */
    for (size_t n = d->nodes.count; n-- > 0 && left > 0;) {
        struct node_spec *node = &d->nodes.items[n];
        int taken = node->device_count < left ? node->device_count : left;

        if (strcmp(d->types.items[node->type].name, what->gpu->name) != 0)
            continue;
        *like = *node;
        node->device_count -= taken;
        left -= taken;
        if (node->device_count > 0)
            continue;
        memmove(node, node + 1, (d->nodes.count - n - 1) * sizeof(*node));
        d->nodes.count--;
        like->device_count = taken;
    }
    if (left > 0)
        return err_set(err, ERR_INVALID,
                       "the cluster has %d GPUs of type %s, %d cannot be taken out",
                       what->count - left, what->gpu->name, what->count);
    return 0;
}

static int type_of(struct draft *d, const struct gpu_sheet *gpu)
{
    for (size_t t = 0; t < d->types.count; t++)
        if (!strcmp(d->types.items[t].name, gpu->name))
            return (int)t;
    vec_push(&d->types, *gpu);
    return (int)d->types.count - 1;
}

static int put_in(struct draft *d, const struct count_of *what, struct node_spec like,
                  struct err *err)
{
    int left = what->count, each = like.device_count > 0 ? like.device_count : 1;

    like.type = type_of(d, what->gpu);
    like.name = NULL;
    if (d->types.count > CLUSTER_MAX_TYPES)
        return err_set(err, ERR_LIMIT, "more than %d GPU types", CLUSTER_MAX_TYPES);
    for (; left > 0; left -= like.device_count) {
        like.device_count = left < each ? left : each;
        vec_push(&d->nodes, like);
    }
    return 0;
}

static int change(struct draft *d, const char *text, size_t length, struct err *err)
{
    const char *equals = memchr(text, '=', length);
    struct node_spec like =
        d->nodes.count ? d->nodes.items[0] : (struct node_spec){.device_count = 1};
    struct count_of out, in;

    if (!equals || length < 2)
        return wrong(text, err);
    if (read_count(text, (size_t)(equals - text), &out, err) < 0 ||
        read_count(equals + 1, length - (size_t)(equals - text) - 1, &in, err) < 0)
        return -1;
    if (out.gpu && take_out(d, &out, &like, err) < 0)
        return -1;
    return in.gpu ? put_in(d, &in, like, err) : 0;
}

/* Types nobody has any more are left out: the world need not know them. */
static struct cluster *build(const struct draft *d)
{
    struct gpu_sheet types[CLUSTER_MAX_TYPES];
    int index[CLUSTER_MAX_TYPES] = {0}, count = 0;
    struct cluster *cluster;

    for (size_t t = 0; t < d->types.count; t++) {
        bool used = false;

        for (size_t n = 0; n < d->nodes.count; n++)
            used = used || d->nodes.items[n].type == (int)t;
        index[t] = count;
        if (used)
            types[count++] = d->types.items[t];
    }
    cluster = cluster_create(types, count);
    for (size_t n = 0; n < d->nodes.count; n++) {
        struct node_spec node = d->nodes.items[n];

        node.type = index[node.type];
        cluster_add_node(cluster, &node);
    }
    return cluster;
}

int what_if_replace(struct cluster **cluster, const char *text, struct err *err)
{
    struct draft d = {0};
    size_t devices = 0;
    int rc = -1;

    load(&d, *cluster);
    while (*text) {
        size_t length = strcspn(text, ",");

        if (change(&d, text, length, err) < 0)
            goto done;
        text += length + (text[length] == ',');
    }
    for (size_t n = 0; n < d.nodes.count; n++)
        devices += (size_t)d.nodes.items[n].device_count;
    if (devices == 0 || devices > CLUSTER_MAX_DEVICES ||
        d.nodes.count > CLUSTER_MAX_NODES) {
        err_set(err, ERR_LIMIT, "the changed cluster would have %zu GPUs", devices);
        goto done;
    }
    struct cluster *changed = build(&d);

    cluster_destroy(*cluster);
    *cluster = changed;
    rc = 0;
done:
    vec_free(&d.types);
    vec_free(&d.nodes);
    return rc;
}
