/* changed_rows.c - helper_server.c sets a table when libslurm has given one, and writes
 * from it what the client has not heard */
#include "corgi-engine-slurm/changed_rows.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct heard_row {
    char *key;
    uint64_t heard; /* hash of the text; 0: never */
    bool here;      /* in the newest table */
};

struct row_news {
    char *key;
    char *json; /* NULL: gone */
    uint64_t hash;
};

struct changed_rows {
    vec_of(struct heard_row) known;
    struct map *by_key; /* hash of the key -> place in known */
    vec_of(struct row_news) news;
    size_t told;  /* news that were */
    bool started; /* an answer was written before */
};

void rows_add_take(struct table_rows *rows, const char *key, char *json)
{
    vec_push(&rows->list, (struct table_row){mem_strdup(key), json});
}

void rows_fini(struct table_rows *rows)
{
    vec_each (struct table_row, row, &rows->list) {
        free(row->key);
        free(row->json);
    }
    vec_free(&rows->list);
}

struct changed_rows *changed_rows_create(void)
{
    struct changed_rows *t = mem_new(struct changed_rows);

    t->by_key = map_create();
    return t;
}

static void drop_news(struct changed_rows *t)
{
    vec_each (struct row_news, news, &t->news) {
        free(news->key);
        free(news->json);
    }
    vec_clear(&t->news);
    t->told = 0;
}

void changed_rows_destroy(struct changed_rows *t)
{
    if (!t)
        return;
    drop_news(t);
    vec_free(&t->news);
    vec_each (struct heard_row, known, &t->known)
        free(known->key);
    vec_free(&t->known);
    map_destroy(t->by_key);
    free(t);
}

static struct heard_row *find(struct changed_rows *t, const char *key)
{
    size_t at;

    if (!map_get(t->by_key, hash_text(key), &at)) {
        at = t->known.count;
        vec_push(&t->known, (struct heard_row){.key = mem_strdup(key)});
        map_put(t->by_key, hash_text(key), at);
    }
    return &t->known.items[at];
}

/* Whoever is not in the table any more is gone, and is forgotten. */
static void find_gone(struct changed_rows *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->known.count; i++) {
        struct heard_row *k = &t->known.items[i];

        if (k->here) {
            map_put(t->by_key, hash_text(k->key), kept);
            t->known.items[kept++] = *k;
            continue;
        }
        map_remove(t->by_key, hash_text(k->key));
        if (k->heard)
            vec_push(&t->news, (struct row_news){.key = k->key});
        else
            free(k->key);
    }
    t->known.count = kept;
}

void changed_rows_set(struct changed_rows *t, struct table_rows *rows)
{
    drop_news(t);
    vec_each (struct heard_row, known, &t->known)
        known->here = false;
    vec_each (struct table_row, row, &rows->list) {
        struct heard_row *k = find(t, row->key);
        uint64_t hash = hash_text(row->json) | 1;

        if (!k->here && k->heard != hash) {
            vec_push(&t->news, (struct row_news){row->key, row->json, hash});
            row->key = row->json = NULL;
        }
        k->here = true;
    }
    find_gone(t);
    rows_fini(rows);
}

bool changed_rows_waiting(const struct changed_rows *t)
{
    return t->told < t->news.count;
}

static void write_some(struct changed_rows *t, size_t from, size_t to, bool gone,
                       struct json_out *out)
{
    for (size_t i = from; i < to; i++) {
        const struct row_news *n = &t->news.items[i];

        if (gone && !n->json)
            json_out_string(out, n->key);
        else if (!gone && n->json)
            json_out_raw(out, n->json);
        if (n->json)
            find(t, n->key)->heard = n->hash;
    }
}

void changed_rows_write(struct changed_rows *t, size_t most, struct json_out *out)
{
    size_t left = t->news.count - t->told, end = t->told + (left < most ? left : most);

    json_out_key_bool(out, "fresh", !t->started);
    json_out_key_array(out, "rows");
    write_some(t, t->told, end, false, out);
    json_out_end(out);
    json_out_key_array(out, "gone");
    write_some(t, t->told, end, true, out);
    json_out_end(out);
    t->told = end;
    t->started = t->started || !changed_rows_waiting(t);
    json_out_key_bool(out, "more", changed_rows_waiting(t));
}
