/* tape.c - the arena and the list of variables: ops.c records on it, the trainer in
 * model/stat_network.c plays it backwards */
#include "nn/tape.h"

#include "base/mem.h"
#include "nn/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 64u /* a cache line, and the widest vector */
#define ARENA_FIRST ((size_t)256 * 1024)

struct chunk {
    struct chunk *next; /* older */
    size_t used, size;
    unsigned char *bytes; /* (size) aligned */
};

struct tape {
    struct chunk *chunks; /* newest first */
    struct var *last;     /* recorded; the chain goes back through var->previous */
    size_t held;
    bool record;
};

static struct chunk *chunk_create(size_t size)
{
    struct chunk *chunk = mem_zeroed(1, sizeof(*chunk) + size + ARENA_ALIGN);
    uintptr_t start = (uintptr_t)(chunk + 1);

    chunk->bytes =
        (unsigned char *)(chunk + 1) + (ARENA_ALIGN - start % ARENA_ALIGN) % ARENA_ALIGN;
    chunk->size = size;
    return chunk;
}

static void chunks_free(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

struct tape *tape_create(void)
{
    struct tape *tape = mem_new(struct tape);

    gemm_setup();
    tape->chunks = chunk_create(ARENA_FIRST);
    tape->held = ARENA_FIRST;
    tape->record = true;
    return tape;
}

void tape_destroy(struct tape *tape)
{
    if (!tape)
        return;
    chunks_free(tape->chunks);
    free(tape);
}

/* Several chunks become one of their joint size, so the same step fits next time. */
void tape_reset(struct tape *tape)
{
    if (tape->chunks->next) {
        chunks_free(tape->chunks);
        tape->chunks = chunk_create(tape->held);
    }
    tape->chunks->used = 0;
    tape->last = NULL;
}

void tape_record(struct tape *tape, bool record)
{
    tape->record = record;
}

static void *take(struct tape *tape, size_t bytes)
{
    struct chunk *chunk = tape->chunks;
    void *memory;

    bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (chunk->size - chunk->used < bytes) {
        size_t size = bytes > tape->held ? bytes : tape->held;

        chunk = chunk_create(size);
        chunk->next = tape->chunks;
        tape->chunks = chunk;
        tape->held += size;
    }
    memory = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memory;
}

nn_real *tape_reals(struct tape *tape, size_t count)
{
    return take(tape, count * sizeof(nn_real));
}

const nn_real *tape_copy(struct tape *tape, const nn_real *numbers, size_t count)
{
    nn_real *copy = tape_reals(tape, count);

    memcpy(copy, numbers, count * sizeof(*copy));
    return copy;
}

static struct var *var_new(struct tape *tape, int rows, int cols)
{
    struct var *var = take(tape, sizeof(*var));

    assert(rows > 0 && cols > 0);
    memset(var, 0, sizeof(*var));
    var->rows = rows;
    var->cols = cols;
    return var;
}

struct var *tape_input(struct tape *tape, int rows, int cols, const nn_real *numbers)
{
    struct var *var = var_new(tape, rows, cols);

    var->value = tape_reals(tape, var_count(var));
    if (numbers)
        memcpy(var->value, numbers, var_count(var) * sizeof(*numbers));
    else
        memset(var->value, 0, var_count(var) * sizeof(*var->value));
    return var;
}

struct var *tape_param(struct tape *tape, struct params *params, int id)
{
    const struct param *item = &params->items[id];
    struct var *var;

    assert(id >= 0 && id < params->item_count);
    var = var_new(tape, item->rows, item->cols);
    var->value = params->value + item->offset;
    if (tape->record)
        var->grad = params->grad + item->offset;
    return var;
}

struct var *tape_result(struct tape *tape, int rows, int cols,
                        void (*backward)(const struct var *var), struct var *a,
                        struct var *b, struct var *c)
{
    struct var *var = var_new(tape, rows, cols);

    var->value = tape_reals(tape, var_count(var));
    var->in[0] = a;
    var->in[1] = b;
    var->in[2] = c;
    if (a->grad || (b && b->grad) || (c && c->grad)) {
        var->grad = tape_reals(tape, var_count(var));
        memset(var->grad, 0, var_count(var) * sizeof(*var->grad));
        var->backward = backward;
        var->previous = tape->last;
        tape->last = var;
    }
    return var;
}

void tape_backward(struct tape *tape, struct var *loss)
{
    assert(loss->rows == 1 && loss->cols == 1 && loss->grad);
    loss->grad[0] = 1;
    for (const struct var *var = tape->last; var; var = var->previous)
        var->backward(var);
}
