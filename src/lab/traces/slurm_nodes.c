/* slurm_nodes.c - `sinfo` or `scontrol` read line by line: slurm.c makes a cluster of
 * it */
#include "lab/traces/slurm_nodes.h"

#include "base/mem.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ---------------------------------------------------------------------- */

#define HOST_MOST 20000.0 /* watts, as in a cluster's file */

struct nodes_reading {
    vec_of(struct slurm_node) list;
    struct map *by_name;
    struct intern *partitions;
    const char *names;
    struct err *err;
    struct slurm_node like; /* what the present line says of its nodes */
    bool failed;
};

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 1;

    for (; *name; name++)
        hash = rng_mix(hash, (unsigned char)*name);
    return hash;
}

/* Two names with one hash are as likely as a broken disk, but must not pass for one. */
static const struct slurm_node *find(const struct slurm_node *nodes,
                                     const struct map *by_name, const char *name)
{
    size_t at;

    if (!map_get(by_name, hash_name(name), &at) || strcmp(nodes[at].name, name) != 0)
        return NULL;
    return &nodes[at];
}

static bool same_gpus(const struct slurm_node *a, const struct slurm_node *b)
{
    bool same = a->kinds == b->kinds;

    for (int k = 0; same && k < a->kinds; k++)
        same = a->card[k] == b->card[k] && a->gpus[k] == b->gpus[k];
    return same;
}

static int group_of(int partition)
{
    return partition >= 0 && partition + 1 < LOOP_NOWHERE ? partition + 1 : 0;
}

/* "gpu*" is the default one; scontrol tells all of them at once. */
static uint64_t read_groups(struct nodes_reading *r, const char *partitions)
{
    char name[SLURM_HOST_SIZE];
    uint64_t groups = 0;

    while (str_next_word(&partitions, name, sizeof(name))) {
        name[strcspn(name, "*")] = '\0';
        if (name[0])
            groups |= (uint64_t)1 << group_of(intern_id(r->partitions, name));
    }
    return groups & ~(uint64_t)1; /* 0 is all nodes */
}

static bool add_node(void *ctx, const char *host)
{
    struct nodes_reading *r = ctx;
    const struct slurm_node *known = find(r->list.items, r->by_name, host);
    struct slurm_node node = r->like;

    str_copy(node.name, sizeof(node.name), host);
    if (known) {
        r->failed = !same_gpus(known, &node);
        if (r->failed)
            err_set(r->err, ERR_INVALID,
                    "node %s has other GPUs than further up; take one of the two out",
                    host);
        r->list.items[known - r->list.items].groups |= node.groups;
        return !r->failed;
    }
    map_put(r->by_name, hash_name(host), r->list.count);
    vec_push(&r->list, node);
    return true;
}

static int add_cards(struct slurm_node *node, const struct gpu_sheet *card, int count,
                     struct err *err)
{
    int k = 0;

    if (count == 0)
        return 0;
    while (k < node->kinds && node->card[k] != card)
        k++;
    if (k == SLURM_MAX_KINDS || node->gpus[k] + count > SLURM_NODE_GPUS)
        return err_set(err, ERR_LIMIT, "more than %d GPUs on a node", SLURM_NODE_GPUS);
    node->kinds += k == node->kinds;
    node->card[k] = card;
    node->gpus[k] += count;
    return 0;
}

/* What a line tells of its nodes; NULL: it does not. */
struct node_words {
    const char *host, *gres, *partitions, *watts;
};

static int add_nodes(struct nodes_reading *r, const struct node_words *words)
{
    const struct gpu_sheet *card;
    struct slurm_gres g;

    if (slurm_gres_read(&g, words->gres, r->err) < 0)
        return -1;
    r->like = (struct slurm_node){.groups = read_groups(r, words->partitions)};
    if (words->watts && (!parse_double(words->watts, &r->like.host_watts) ||
                         !(r->like.host_watts >= 0 && r->like.host_watts <= HOST_MOST)))
        return err_set(r->err, ERR_FORMAT, "HOST_WATTS is \"%.40s\", want watts",
                       words->watts);
    for (int k = 0; k < g.kinds; k++) {
        card = slurm_gres_card(r->names, g.kind[k].type, r->err);
        if (!card || add_cards(&r->like, card, g.kind[k].count, r->err) < 0)
            return -1;
    }
    card = slurm_gres_card(r->names, "", r->err);
    if (g.untyped > 0 && !card)
        return err_set(r->err, ERR_NOT_FOUND,
                       "GRES \"%.60s\" does not tell the type of its GPUs; say it with "
                       "--slurm-types gpu=CARD",
                       words->gres);
    if (add_cards(&r->like, card, g.untyped, r->err) < 0 ||
        slurm_hosts(words->host, CLUSTER_MAX_NODES, add_node, r, r->err) < 0 || r->failed)
        return -1;
    if (r->list.count > CLUSTER_MAX_NODES)
        return err_set(r->err, ERR_LIMIT, "more than %d nodes", CLUSTER_MAX_NODES);
    return 0;
}

/* The next word between blanks; NULL at the end. */
static char *next_word(char **rest)
{
    char *word;

    while (isspace((unsigned char)**rest))
        (*rest)++;
    if (!**rest)
        return NULL;
    word = *rest;
    while (**rest && !isspace((unsigned char)**rest))
        (*rest)++;
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

/* Where a list has what; -1: nowhere. */
struct sinfo_columns {
    int host, gres, partition, watts;
};

/* False: it is no header. */
static bool read_header(const char *line, struct sinfo_columns *at)
{
    char copy[256], *rest = copy, *word;

    if (!str_copy(copy, sizeof(copy), line))
        return false;
    *at = (struct sinfo_columns){-1, -1, -1, -1};
    for (int i = 0; (word = next_word(&rest)); i++) {
        if (!strcmp(word, "NODELIST") || !strcmp(word, "HOSTNAMES"))
            at->host = i;
        if (!strcmp(word, "GRES"))
            at->gres = i;
        if (!strcmp(word, "PARTITION"))
            at->partition = i;
        if (!strcmp(word, "HOST_WATTS"))
            at->watts = i;
    }
    return at->host >= 0;
}

static int read_sinfo_line(struct nodes_reading *r, char *line,
                           const struct sinfo_columns *at)
{
    struct node_words words = {0};
    char *word;

    for (int i = 0; (word = next_word(&line)); i++) {
        if (i == at->host)
            words.host = word;
        if (i == at->gres)
            words.gres = word;
        if (i == at->partition)
            words.partitions = word;
        if (i == at->watts)
            words.watts = word;
    }
    if (!words.host || !words.gres)
        return err_set(r->err, ERR_FORMAT,
                       "no name of a node and its GRES; make the list with sinfo -N -o "
                       "\"%%N %%G\"");
    return add_nodes(r, &words);
}

static int read_sinfo(struct nodes_reading *r, struct slurm_lines *lines, char *line)
{
    struct sinfo_columns at;
    int more = 1;

    if (read_header(line, &at)) {
        if (at.gres < 0) {
            err_set(r->err, ERR_FORMAT,
                    "no column GRES; make the list with sinfo -N -o \"%%N %%G\"");
            return slurm_lines_refuse(lines, r->err);
        }
        more = slurm_lines_next(lines, &line, r->err);
    } else {
        at = (struct sinfo_columns){0, 1, -1, -1};
    }
    for (; more > 0; more = slurm_lines_next(lines, &line, r->err))
        if (read_sinfo_line(r, line, &at) < 0)
            return slurm_lines_refuse(lines, r->err);
    return more;
}

/* A record is complete when the next begins, or none does. */
static int end_record(struct nodes_reading *r, struct node_words *record)
{
    int rc = 0;

    if (record->host && !record->gres)
        rc = err_set(r->err, ERR_FORMAT, "node %.60s has no Gres= behind it",
                     record->host);
    else if (record->host)
        rc = add_nodes(r, record);
    *record = (struct node_words){0};
    return rc;
}

static int read_scontrol(struct nodes_reading *r, struct slurm_lines *lines, char *line)
{
    struct node_words record = {0};
    int more = 1;
    char *word;

    for (; more > 0; more = slurm_lines_next(lines, &line, r->err))
        while ((word = next_word(&line))) {
            if (str_starts(word, "NodeName=")) {
                if (end_record(r, &record) < 0)
                    return slurm_lines_refuse(lines, r->err);
                record.host = word + strlen("NodeName=");
            } else if (str_starts(word, "Gres=")) {
                record.gres = word + strlen("Gres=");
            } else if (str_starts(word, "Partitions=")) {
                record.partitions = word + strlen("Partitions=");
            }
        }
    if (more == 0 && end_record(r, &record) < 0)
        return slurm_lines_refuse(lines, r->err);
    return more;
}

static int check(const struct nodes_reading *r, const char *name)
{
    bool gpus = false;

    for (size_t i = 0; i < r->list.count; i++)
        gpus = gpus || r->list.items[i].kinds > 0;
    if (gpus)
        return 0;
    return err_set(r->err, ERR_FORMAT,
                   "%s holds no node with a GPU; make the list with sinfo -N -o \"%%N "
                   "%%G\"",
                   name);
}

/* The text is changed. */
static int read_text(struct slurm_nodes *nodes, char *text, const char *name,
                     const char *names, struct err *err)
{
    struct nodes_reading r = {.by_name = map_create(),
                              .partitions = intern_create(),
                              .names = names,
                              .err = err};
    struct slurm_lines lines;
    char *line;
    int rc;

    slurm_lines_init(&lines, text, name);
    rc = slurm_lines_next(&lines, &line, err);
    if (rc > 0)
        rc = str_starts(line, "NodeName=") ? read_scontrol(&r, &lines, line)
                                           : read_sinfo(&r, &lines, line);
    if (rc < 0 || check(&r, name) < 0) {
        vec_free(&r.list);
        map_destroy(r.by_name);
        intern_destroy(r.partitions);
        return -1;
    }
    *nodes = (struct slurm_nodes){.count = r.list.count,
                                  .nodes = r.list.items,
                                  .by_name = r.by_name,
                                  .partitions = r.partitions};
    return 0;
}

int slurm_nodes_load(struct slurm_nodes *nodes, const char *path, const char *names,
                     struct err *err)
{
    char *text;
    int rc;

    if (slurm_text_load(&text, path, err) < 0)
        return -1;
    rc = read_text(nodes, text, path, names, err);
    free(text);
    return rc;
}

void slurm_nodes_fini(struct slurm_nodes *nodes)
{
    free(nodes->nodes);
    map_destroy(nodes->by_name);
    intern_destroy(nodes->partitions);
    *nodes = (struct slurm_nodes){0};
}

const struct slurm_node *slurm_nodes_find(const struct slurm_nodes *nodes,
                                          const char *name)
{
    return nodes->by_name ? find(nodes->nodes, nodes->by_name, name) : NULL;
}

int slurm_nodes_group(const struct slurm_nodes *nodes, const char *partition)
{
    return nodes->partitions ? group_of(intern_find(nodes->partitions, partition)) : 0;
}
