/* mem.c - memory that is there or ends the process */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void mem_out(size_t count, size_t size)
{
    fprintf(stderr, "corgi: out of memory (%zu items of %zu bytes)\n", count, size);
    abort();
}

void *mem_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        mem_out(count, size);
    return memory;
}

void *mem_resize(void *array, size_t old_count, size_t new_count, size_t size)
{
    void *memory;

    if (size && new_count > SIZE_MAX / size)
        mem_out(new_count, size);
    memory = realloc(array, new_count && size ? new_count * size : 1);
    if (!memory)
        mem_out(new_count, size);
    if (new_count > old_count)
        memset((char *)memory + old_count * size, 0, (new_count - old_count) * size);
    return memory;
}

char *mem_strdup(const char *text)
{
    return mem_dup(text, strlen(text) + 1, 1);
}

void *mem_dup(const void *bytes, size_t count, size_t size)
{
    void *memory = mem_zeroed(count, size);

    if (count)
        memcpy(memory, bytes, count * size);
    return memory;
}
