/* slurm_node_file.c - slurm_node_table.c keeps the last known cluster with it, so that a
 * daemon can start while Slurm is away */
#include "engine/slurm/slurm_node_table_private.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

#define FILE_BYTES ((size_t)16 << 20)

void slurm_node_table_save(struct slurm_node_table *t)
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
        int at = card ? slurm_node_table_take_type(t, card) : -1;

        if (at < 0)
            return;
        n.types[i] = at;
    }
    n.device_count = (int)count;
    t->device_count += n.device_count;
    vec_push(&t->nodes, n);
}

void slurm_node_table_load(struct slurm_node_table *t)
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
