/* intern.c - names as small numbers: a string table with a chained hash */
#include "base/intern.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <assert.h>
#include <string.h>

#define BUCKETS 1024

struct entry {
    char *name;
    int next; /* in the same bucket, -1 at its end */
};

struct intern {
    vec_of(struct entry) entries;
    int buckets[BUCKETS]; /* first entry + 1; 0 is empty */
};

struct intern *intern_create(void)
{
    return mem_new(struct intern);
}

void intern_destroy(struct intern *names)
{
    if (!names)
        return;
    vec_each (struct entry, entry, &names->entries)
        free(entry->name);
    vec_free(&names->entries);
    free(names);
}

static unsigned bucket_of(const char *name)
{
    return (unsigned)(hash_text(name) % BUCKETS);
}

int intern_find(const struct intern *names, const char *name)
{
    int i = names->buckets[bucket_of(name)] - 1;

    while (i >= 0 && strcmp(names->entries.items[i].name, name) != 0)
        i = names->entries.items[i].next;
    return i;
}

int intern_id(struct intern *names, const char *name)
{
    int id = intern_find(names, name);
    unsigned bucket = bucket_of(name);

    if (id >= 0)
        return id;
    id = (int)names->entries.count;
    vec_push(&names->entries, (struct entry){.name = mem_strdup(name),
                                             .next = names->buckets[bucket] - 1});
    names->buckets[bucket] = id + 1;
    return id;
}

const char *intern_name(const struct intern *names, int id)
{
    assert(id >= 0 && id < intern_count(names));
    return names->entries.items[id].name;
}

int intern_count(const struct intern *names)
{
    return (int)names->entries.count;
}
