/* cluster_file.c - clusters for simulations: the simulated engine and the laboratory load
 * them, `corgi config` documents and checks them */
#include "engine/sim/cluster_file.h"

#include "base/config.h"
#include "loop/cluster.h"
#include "world/gpu_sheet.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

struct node_config {
    char *name;
    char *gpu;
    int gpus;
    int count;
    double host_watts;
    double sleep_watts;
    double wake_s;
    bool may_sleep;
    double cpus, memory_gb;
    int share;
    int line; /* where it begins in the file */
};

struct cluster_config {
    struct config_list nodes; /* of struct node_config */
};

static int check_gpu(const void *value, struct err *err)
{
    const char *name = *(char *const *)value;

    if (gpu_find(name))
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "no GPU '%s' in the catalogue; 'corgi gpus' lists what is known",
                   name);
}

#define AT(field) offsetof(struct node_config, field)

static const struct config_key node_keys[] = {
    {.name = "gpu",
     .type = CONFIG_STRING,
     .required = true,
     .default_text = "v100",
     .offset = AT(gpu),
     .check = check_gpu,
     .help = "the GPU type, a card of the catalogue"},
    CONFIG_NUMBER(INT, "gpus", AT(gpus), 1, 64, "4", "how many of them a node has"),
    CONFIG_NUMBER(INT, "count", AT(count), 1, CLUSTER_MAX_NODES, "1",
                  "how many such nodes there are"),
    CONFIG_KEY(STRING, "name", AT(name), NULL,
               "of the node; several get a number behind it"),
    CONFIG_NUMBER(WATTS, "host", AT(host_watts), 0, 20000,
                  TEXT_OF(CLUSTER_HOST_WATTS) "W",
                  "draw of an awake node without its GPUs"),
    CONFIG_NUMBER(WATTS, "sleep", AT(sleep_watts), 0, 20000, "10W",
                  "draw of a sleeping node, all of it"),
    CONFIG_NUMBER(SECONDS, "wake", AT(wake_s), 0, 86400, "60s", "from asleep to ready"),
    CONFIG_KEY(BOOL, "may_sleep", AT(may_sleep), "true",
               "whether it may be put to sleep at all"),
    CONFIG_NUMBER(DOUBLE, "cpus", AT(cpus), 0, 1e6, "0",
                  "processors for jobs that ask for some; 0: as many as they like"),
    CONFIG_NUMBER(DOUBLE, "memory_gb", AT(memory_gb), 0, 1e6, "0",
                  "memory of the host, likewise"),
    CONFIG_NUMBER(INT, "share", AT(share), 0, LOOP_MAX_SHARE, "0",
                  "jobs one of its GPUs takes at once; 0: as the policy says"),
    {.name = "line", .type = CONFIG_LINE, .offset = AT(line)},
    {0},
};

static const struct config_key cluster_keys[] = {
    {.name = "nodes",
     .type = CONFIG_LIST,
     .min = 1,
     .max = 10000,
     .required = true,
     .keys = node_keys,
     .item_size = sizeof(struct node_config),
     .offset = offsetof(struct cluster_config, nodes),
     .help = "the machines, a group of equal ones an item"},
    {0},
};

static int type_index(struct gpu_sheet *types, int *count, const char *gpu)
{
    const struct gpu_sheet *sheet = gpu_find(gpu);
    int t = 0;

    while (t < *count && strcmp(types[t].name, sheet->name) != 0)
        t++;
    if (t == CLUSTER_MAX_TYPES)
        return -1;
    if (t == *count)
        types[(*count)++] = *sheet;
    return t;
}

static void add_nodes(struct cluster *cluster, const struct node_config *n, int type)
{
    for (int i = 0; i < n->count; i++) {
        char name[LOOP_NAME_SIZE] = "";

        if (n->name && n->count == 1)
            snprintf(name, sizeof(name), "%.60s", n->name);
        else if (n->name)
            snprintf(name, sizeof(name), "%.60s-%d", n->name, i + 1);
        cluster_add_node(cluster, &(struct node_spec){
                                      .name = name,
                                      .type = type,
                                      .device_count = n->gpus,
                                      .host_watts = n->host_watts,
                                      .sleep_watts = n->sleep_watts,
                                      .wake_s = n->wake_s,
                                      .may_sleep = n->may_sleep,
                                      .room = {n->cpus, n->memory_gb},
                                      .share_most = n->share,
                                  });
    }
}

static int build(struct cluster **cluster, const struct cluster_config *config,
                 const char *path, struct err *err)
{
    const struct node_config *nodes = config->nodes.items;
    struct gpu_sheet types[CLUSTER_MAX_TYPES];
    long node_count = 0, device_count = 0;
    int type_count = 0;

    for (size_t i = 0; i < config->nodes.count; i++) {
        node_count += nodes[i].count;
        device_count += (long)nodes[i].count * nodes[i].gpus;
        if (type_index(types, &type_count, nodes[i].gpu) < 0)
            return err_set(err, ERR_LIMIT, "%s:%d: more than %d GPU types; take some out",
                           path, nodes[i].line, CLUSTER_MAX_TYPES);
        if (node_count > CLUSTER_MAX_NODES || device_count > CLUSTER_MAX_DEVICES)
            return err_set(err, ERR_LIMIT,
                           "%s:%d: %ld nodes with %ld GPUs up to here; at most %d and %d "
                           "are possible",
                           path, nodes[i].line, node_count, device_count,
                           CLUSTER_MAX_NODES, CLUSTER_MAX_DEVICES);
    }
    *cluster = cluster_create(types, type_count);
    for (size_t i = 0; i < config->nodes.count; i++)
        add_nodes(*cluster, &nodes[i], type_index(types, &type_count, nodes[i].gpu));
    return 0;
}

int cluster_file_load(struct cluster **cluster, const char *path, struct err *err)
{
    struct cluster_config config = {0};
    int rc;

    if (config_read(cluster_keys, &config, sizeof(config), path, err) < 0)
        return -1;
    rc = build(cluster, &config, path, err);
    config_fini(cluster_keys, &config);
    return rc;
}

int cluster_file_parse(struct cluster **cluster, const char *text, size_t length,
                       const char *name, struct err *err)
{
    struct cluster_config config = {0};
    int rc;

    if (config_parse(cluster_keys, &config, sizeof(config), name, text, length, err) < 0)
        return -1;
    rc = build(cluster, &config, name, err);
    config_fini(cluster_keys, &config);
    return rc;
}

void cluster_file_document(struct str *out)
{
    config_document(cluster_keys, out);
}

struct builtin {
    const char *name;
    const char *text;
};

static const struct builtin builtins[] = {
    {"demo", "nodes:\n"
             "  - {gpu: k80, gpus: 4, count: 4, name: kepler}\n"
             "  - {gpu: p100, gpus: 4, count: 4, name: pascal}\n"
             "  - {gpu: v100, gpus: 4, count: 4, name: volta}\n"},
    {"standard", "nodes:\n"
                 "  - {gpu: k80, gpus: 4, count: 9, name: kepler}\n"
                 "  - {gpu: p100, gpus: 4, count: 9, name: pascal}\n"
                 "  - {gpu: v100, gpus: 4, count: 9, name: volta}\n"},
    {"standard-gangs", "nodes:\n"
                       "  - {gpu: k80, gpus: 8, count: 5, name: kepler}\n"
                       "  - {gpu: p100, gpus: 8, count: 5, name: pascal}\n"
                       "  - {gpu: v100, gpus: 8, count: 5, name: volta}\n"},
    {"standard-nok80", "nodes:\n"
                       "  - {gpu: p100, gpus: 4, count: 13, name: pascal}\n"
                       "  - {gpu: v100, gpus: 4, count: 14, name: volta}\n"},
    {"modern", "nodes:\n"
               "  - {gpu: t4, gpus: 4, count: 5, name: turing}\n"
               "  - {gpu: v100, gpus: 4, count: 5, name: volta}\n"
               "  - {gpu: a100, gpus: 4, count: 5, name: ampere}\n"
               "  - {gpu: l4, gpus: 4, count: 5, name: ada}\n"
               "  - {gpu: h100, gpus: 4, count: 5, name: hopper}\n"},
    {"alibaba", "nodes:\n"
                "  - {gpu: p100, gpus: 1, count: 3, name: p100-1}\n"
                "  - {gpu: p100, gpus: 2, count: 131, name: p100-2}\n"
                "  - {gpu: v100-16, gpus: 1, count: 19, name: v100m16-1}\n"
                "  - {gpu: v100-16, gpus: 4, count: 28, name: v100m16-4}\n"
                "  - {gpu: v100-16, gpus: 8, count: 8, name: v100m16-8}\n"
                "  - {gpu: v100-32, gpus: 4, count: 9, name: v100m32-4}\n"
                "  - {gpu: v100-32, gpus: 8, count: 21, name: v100m32-8}\n"
                "  - {gpu: t4, gpus: 2, count: 387, name: t4-2}\n"
                "  - {gpu: t4, gpus: 4, count: 17, name: t4-4}\n"
                "  - {gpu: a10, gpus: 1, count: 2, name: a10-1}\n"
                "  - {gpu: a10, gpus: 8, count: 549, name: g2-8}\n"
                "  - {gpu: a100, gpus: 8, count: 39, name: g3-8}\n"},
    {"alibaba-small", "nodes:\n"
                      "  - {gpu: p100, gpus: 2, count: 7, name: p100-2}\n"
                      "  - {gpu: v100-16, gpus: 1, count: 2, name: v100m16-1}\n"
                      "  - {gpu: v100-16, gpus: 4, count: 2, name: v100m16-4}\n"
                      "  - {gpu: v100-32, gpus: 8, count: 1, name: v100m32-8}\n"
                      "  - {gpu: t4, gpus: 2, count: 19, name: t4-2}\n"
                      "  - {gpu: t4, gpus: 4, count: 1, name: t4-4}\n"
                      "  - {gpu: a10, gpus: 8, count: 27, name: g2-8}\n"
                      "  - {gpu: a100, gpus: 8, count: 2, name: g3-8}\n"},
};

struct cluster *cluster_builtin(const char *name)
{
    struct cluster *cluster = NULL;

    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        const struct builtin *b = &builtins[i];

        if (strcmp(b->name, name) != 0)
            continue;
        cluster_file_parse(&cluster, b->text, strlen(b->text), b->name, NULL);
        return cluster;
    }
    return NULL;
}
