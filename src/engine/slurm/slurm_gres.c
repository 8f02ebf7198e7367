/* slurm_gres.c - node_table.c and job_table.c of this folder, and lab/traces, read counts
 * of GPUs with it */
#include "engine/slurm/slurm_gres.h"

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COUNT 100000

static int add_kind(struct slurm_gres *g, const char *type, int count, struct err *err)
{
    int k = 0;

    while (k < g->kinds && strcmp(g->kind[k].type, type) != 0)
        k++;
    if (k == SLURM_MAX_KINDS)
        return err_set(err, ERR_LIMIT, "more than %d types of GPU", SLURM_MAX_KINDS);
    if (k == g->kinds) {
        if (!str_copy(g->kind[k].type, sizeof(g->kind[k].type), type))
            return err_set(err, ERR_LIMIT, "the GPU type \"%.20s...\" is too long", type);
        g->kinds++;
    }
    g->kind[k].count += count;
    return 0;
}

static bool read_count(const char *text, int *count)
{
    int found;

    if (!parse_int(text, &found) || found < 0 || found > MAX_COUNT)
        return false;
    *count = found;
    return true;
}

/* Sockets and indices in brackets say nothing here, and hold commas. */
static void drop_brackets(char *text)
{
    char *to = text;
    int depth = 0;

    for (; *text; text++) {
        depth += *text == '(';
        if (depth == 0)
            *to++ = *text;
        depth -= *text == ')' && depth > 0;
    }
    *to = '\0';
}

/* gpu, gpu:2, gpu:v100, gpu:v100:2, gpu:v100:no_consume:2 */
static int read_node_item(struct slurm_gres *g, char *item, struct err *err)
{
    char *rest = str_starts(item, "gres:") ? item + 5 : item, *part;
    const char *name = strsep(&rest, ":"), *type = "";
    int count = -1;
    bool shard = !strcmp(name, "shard");

    if (strcmp(name, "gpu") != 0 && !shard)
        return 0;
    while ((part = strsep(&rest, ":"))) {
        if (count < 0 && !rest && read_count(part, &count))
            continue;
        if (!strcmp(part, "no_consume"))
            continue;
        if (*type || !*part)
            return err_set(err, ERR_FORMAT,
                           "GRES gpu:%.40s is none of gpu:TYPE:COUNT and gpu:COUNT",
                           *type ? type : "");
        type = part;
    }
    if (count < 0)
        count = 1;
    if (shard)
        g->shards += count;
    else if (*type)
        return add_kind(g, type, count, err);
    else
        g->untyped += count;
    return 0;
}

int slurm_gres_read(struct slurm_gres *gres, const char *text, struct err *err)
{
    char *copy = mem_strdup(text), *rest = copy, *item;
    struct slurm_gres g = {0};
    int rc = 0;

    drop_brackets(copy);
    while (rc == 0 && (item = strsep(&rest, ",")))
        rc = read_node_item(&g, item, err);
    free(copy);
    if (rc == 0)
        *gres = g;
    return rc;
}

/* gres/gpu=2 counts all, gres/gpu:v100=2 those of a type. */
static int read_job_item(struct slurm_gres *g, char *item, struct err *err)
{
    char *value = item, *key = strsep(&value, "=");
    int count;

    if (!str_starts(key, "gres/gpu") && strcmp(key, "gres/shard") != 0)
        return 0;
    if (key[strlen("gres/gpu")] && key[strlen("gres/gpu")] != ':' &&
        strcmp(key, "gres/shard") != 0)
        return 0; /* gres/gpumem, gres/gpuutil */
    if (!value || !read_count(value, &count))
        return err_set(err, ERR_FORMAT, "%.40s=%.40s is no count of GPUs", key,
                       value ? value : "");
    if (!strcmp(key, "gres/shard"))
        g->shards += count;
    else if (!strcmp(key, "gres/gpu"))
        g->untyped += count;
    else
        return add_kind(g, key + strlen("gres/gpu:"), count, err);
    return 0;
}

int slurm_gres_read_tres(struct slurm_gres *gres, const char *text, struct err *err)
{
    char *copy = mem_strdup(text), *rest = copy, *item;
    struct slurm_gres g = {0};
    int rc = 0;

    while (rc == 0 && (item = strsep(&rest, ",")))
        rc = read_job_item(&g, item, err);
    free(copy);
    if (rc == 0)
        *gres = g;
    return rc;
}

/* The card a list gives a name; NULL when it does not have it. */
static const char *named(const char *names, const char *type)
{
    while (names && *names) {
        size_t length = strcspn(names, "=,"), type_length = strlen(type);

        if (names[length] == '=' && length == type_length &&
            !strncmp(names, type, length))
            return names + length + 1;
        names += strcspn(names, ",");
        names += *names == ',';
    }
    return NULL;
}

static const struct gpu_sheet *find_card(const char *text)
{
    char card[SLURM_TYPE_SIZE];
    size_t length = strcspn(text, ",");

    if (length >= sizeof(card))
        return NULL;
    memcpy(card, text, length);
    card[length] = '\0';
    return gpu_find(card);
}

const struct gpu_sheet *slurm_gres_card(const char *names, const char *type,
                                        struct err *err)
{
    const char *given = named(names, *type ? type : "gpu");
    const struct gpu_sheet *card = NULL;

    if (given)
        card = find_card(given);
    else if (*type)
        card = gpu_find(type);
    if (!card && *type)
        err_set(err, ERR_NOT_FOUND,
                "no GPU '%.60s' in the catalogue ('corgi gpus' lists it); say what it is "
                "with --slurm-types %.60s=CARD",
                type, type);
    return card;
}

int slurm_gres_check_names(const char *names, struct err *err)
{
    while (*names) {
        size_t item = strcspn(names, ","), name = strcspn(names, "=,");

        if (name == 0 || names[name] != '=')
            return err_set(err, ERR_USAGE, "'%.*s' is not of the form NAME=CARD",
                           (int)(item < 60 ? item : 60), names);
        if (!find_card(names + name + 1))
            return err_set(err, ERR_USAGE,
                           "%.*s: no such GPU in the catalogue; 'corgi "
                           "gpus' lists what is known",
                           (int)(item < 60 ? item : 60), names);
        names += item + (names[item] == ',');
    }
    return 0;
}

static uint64_t bits(unsigned long first, unsigned long last)
{
    uint64_t mask = 0;

    for (unsigned long i = first; i <= last && i < 64; i++)
        mask |= (uint64_t)1 << i;
    return mask;
}

uint64_t slurm_gres_indices(const char *text)
{
    uint64_t mask = 0;

    while ((text = strstr(text, "(IDX:"))) {
        text += 5;
        while (*text >= '0' && *text <= '9') {
            char *end;
            unsigned long first = strtoul(text, &end, 10), last = first;

            if (*end == '-')
                last = strtoul(end + 1, &end, 10);
            mask |= bits(first, last);
            text = end + (*end == ',');
        }
    }
    return mask;
}

/* "2/4,0/4)": GPU by GPU, how many of its parts are used. */
static uint64_t used_parts(const char *text)
{
    uint64_t mask = 0;

    for (int i = 0; i < 64; i++) {
        char *end;
        unsigned long used = strtoul(text, &end, 10);

        if (end == text || *end != '/')
            break;
        if (used > 0)
            mask |= bits((unsigned long)i, (unsigned long)i);
        text = end + 1 + strspn(end + 1, "0123456789");
        if (*text != ',')
            break;
        text++;
    }
    return mask;
}

uint64_t slurm_gres_used(const char *text)
{
    uint64_t mask = slurm_gres_indices(text);

    while ((text = strstr(text, "shard:"))) {
        text += strlen("shard:");
        text += strcspn(text, "(,");
        if (*text == '(')
            mask |= used_parts(text + 1);
    }
    return mask;
}
