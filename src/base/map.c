/* map.c - from a 64-bit key to an index: linear probing with backward-shift deletion */
#include "base/map.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

struct map_slot {
    uint64_t key;
    size_t value;
    bool used;
};

struct map {
    struct map_slot *slots;
    size_t mask; /* slot count - 1, a power of two less one */
    size_t count;
};

struct map *map_create(void)
{
    struct map *map = mem_new(struct map);

    map->mask = 15;
    map->slots = mem_array(struct map_slot, map->mask + 1);
    return map;
}

void map_destroy(struct map *map)
{
    if (!map)
        return;
    free(map->slots);
    free(map);
}

static size_t home(const struct map *map, uint64_t key)
{
    return (size_t)rng_mix(key, 0) & map->mask;
}

static size_t find(const struct map *map, uint64_t key)
{
    size_t i = home(map, key);

    while (map->slots[i].used && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    return i;
}

static void grow(struct map *map)
{
    struct map_slot *old = map->slots;
    size_t old_count = map->mask + 1;

    map->mask = old_count * 2 - 1;
    map->slots = mem_array(struct map_slot, map->mask + 1);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].used)
            map->slots[find(map, old[i].key)] = old[i];
    free(old);
}

void map_put(struct map *map, uint64_t key, size_t value)
{
    size_t i;

    if ((map->count + 1) * 4 > (map->mask + 1) * 3)
        grow(map);
    i = find(map, key);
    if (!map->slots[i].used)
        map->count++;
    map->slots[i] = (struct map_slot){.key = key, .value = value, .used = true};
}

bool map_get(const struct map *map, uint64_t key, size_t *value)
{
    const struct map_slot *slot = &map->slots[find(map, key)];

    if (!slot->used)
        return false;
    *value = slot->value;
    return true;
}

bool map_remove(struct map *map, uint64_t key)
{
    size_t hole = find(map, key);
    size_t i = hole;

    if (!map->slots[hole].used)
        return false;
    /* Pull back what was pushed past the hole: probing never meets a tombstone. */
    for (;;) {
        i = (i + 1) & map->mask;
        if (!map->slots[i].used)
            break;
        size_t wanted = home(map, map->slots[i].key);
        if (((i - wanted) & map->mask) >= ((i - hole) & map->mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].used = false;
    map->count--;
    return true;
}
