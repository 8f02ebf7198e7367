/* arena.c - memory of a solve: every stage of solve.c takes from here, and the next
 * solve takes the same memory again
 *
 * Blocks form a stack.  A mark is the number of bytes in use over all blocks, counting
 * what is left unused at the end of earlier blocks. */
#include "lab/solver/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#define ARENA_MAX_BLOCKS  48
#define ARENA_FIRST_BLOCK ((size_t)1 << 16)
#define ARENA_ALIGN       64 /* a cache line: rows of tables never share one by chance */

struct block {
    char *bytes;
    size_t size;
    size_t start; /* bytes of all blocks before */
};

struct arena {
    struct block blocks[ARENA_MAX_BLOCKS];
    int count;
    int current;
    size_t used; /* from the start of the first block */
};

struct arena *arena_create(void)
{
    return mem_new(struct arena);
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (int i = 0; i < arena->count; i++)
        free(arena->blocks[i].bytes);
    free(arena);
}

static void add_block(struct arena *arena, size_t size)
{
    struct block *b = &arena->blocks[arena->count];
    size_t start = 0;

    assert(arena->count < ARENA_MAX_BLOCKS);
    if (arena->count) {
        const struct block *last = b - 1;

        start = last->start + last->size;
        if (size < start) /* double the whole, so the number of blocks stays small */
            size = start;
    }
    *b = (struct block){mem_zeroed(size, 1), size, start};
    arena->count++;
}

void arena_reset(struct arena *arena)
{
    size_t total = arena_capacity(arena);

    arena->used = 0;
    arena->current = 0;
    if (arena->count < 2)
        return;
    for (int i = 0; i < arena->count; i++)
        free(arena->blocks[i].bytes);
    arena->count = 0;
    add_block(arena, total);
}

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    const struct block *b;

    assert(size == 0 || count <= SIZE_MAX / 2 / size);
    bytes = (count * size + ARENA_ALIGN) / ARENA_ALIGN * ARENA_ALIGN;
    if (arena->count == 0)
        add_block(arena, bytes > ARENA_FIRST_BLOCK ? bytes : ARENA_FIRST_BLOCK);
    b = &arena->blocks[arena->current];
    while (arena->used + bytes > b->start + b->size) {
        if (arena->current + 1 == arena->count)
            add_block(arena, bytes);
        b = &arena->blocks[++arena->current];
        arena->used = b->start;
    }
    arena->used += bytes;
    return b->bytes + (arena->used - bytes - b->start);
}

size_t arena_mark(const struct arena *arena)
{
    return arena->used;
}

void arena_release(struct arena *arena, size_t mark)
{
    assert(mark <= arena->used);
    arena->used = mark;
    while (arena->current > 0 && arena->blocks[arena->current].start > mark)
        arena->current--;
}

size_t arena_capacity(const struct arena *arena)
{
    size_t total = 0;

    for (int i = 0; i < arena->count; i++)
        total += arena->blocks[i].size;
    return total;
}
