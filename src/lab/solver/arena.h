/* arena.h - scratch memory that is kept from one solve to the next
 *
 * A solve takes what it needs and gives everything back at once with arena_reset().  The
 * blocks stay, merged into one that is large enough, so rounds of equal size allocate
 * nothing. */
#pragma once

#include <stddef.h>

struct arena;

struct arena *arena_create(void);
void arena_destroy(struct arena *arena); /* NULL is fine */

/* All memory handed out becomes invalid; none is returned to the system. */
void arena_reset(struct arena *arena);

/* Not zeroed; aligned for any type; valid until reset or release. */
void *arena_take(struct arena *arena, size_t count, size_t size);

/* Give back everything taken since the mark: for scratch inside a stage. */
size_t arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, size_t mark);

/* Bytes held, in use or not: what must not grow between equal rounds. */
size_t arena_capacity(const struct arena *arena);

#define arena_array(arena, type, count)                                                  \
    ((type *)arena_take((arena), (size_t)(count), sizeof(type)))
