/* map.h - hash map from a 64-bit key to an index
 *
 * Open addressing, insertion order never matters: there is no iteration, so nothing can
 * come to depend on the order of hashing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

struct map *map_create(void);
void map_destroy(struct map *map); /* NULL is fine */

void map_put(struct map *map, uint64_t key, size_t value); /* replaces */
bool map_get(const struct map *map, uint64_t key, size_t *value);
bool map_remove(struct map *map, uint64_t key);
