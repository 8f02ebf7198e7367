/* mem.h - memory that is there or ends the process
 *
 * Sizes are checked for overflow and memory comes zeroed.  When memory is out the process
 * ends with a message: the store makes a restart safe, and no caller has a better answer.
 * So bound every size that comes from outside before asking. */
#pragma once

#include <stddef.h>

#define mem_new(type)          ((type *)mem_zeroed(1, sizeof(type)))
#define mem_array(type, count) ((type *)mem_zeroed((count), sizeof(type)))

void *mem_zeroed(size_t count, size_t size);

/* Like realloc for an array; what is new beyond old_count is zeroed. */
void *mem_resize(void *array, size_t old_count, size_t new_count, size_t size);

char *mem_strdup(const char *text);
void *mem_dup(const void *bytes, size_t count, size_t size);
