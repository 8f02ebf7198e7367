/* vec.h - a growing array of any type
 *
 *     vec_of(int) list = {0};
 *     vec_push(&list, 3);
 *     vec_free(&list);
 *
 * Items move when the array grows: keep indices, not pointers. */
#pragma once

#include "base/mem.h"

#include <stdlib.h>

#define vec_of(type)                                                                     \
    struct {                                                                             \
        type *items;                                                                     \
        size_t count;                                                                    \
        size_t capacity;                                                                 \
    }

#define vec_reserve(v, wanted)                                                           \
    do {                                                                                 \
        size_t vec_wanted_ = (wanted);                                                   \
        if (vec_wanted_ > (v)->capacity) {                                               \
            size_t vec_new_ = (v)->capacity ? (v)->capacity * 2 : 8;                     \
            if (vec_new_ < vec_wanted_)                                                  \
                vec_new_ = vec_wanted_;                                                  \
            (v)->items =                                                                 \
                mem_resize((v)->items, (v)->capacity, vec_new_, sizeof(*(v)->items));    \
            (v)->capacity = vec_new_;                                                    \
        }                                                                                \
    } while (0)

#define vec_push(v, ...)                                                                 \
    do {                                                                                 \
        vec_reserve((v), (v)->count + 1);                                                \
        (v)->items[(v)->count++] = (__VA_ARGS__);                                        \
    } while (0)

#define vec_clear(v) ((v)->count = 0)

#define vec_free(v)                                                                      \
    do {                                                                                 \
        free((v)->items);                                                                \
        (v)->items = NULL;                                                               \
        (v)->count = (v)->capacity = 0;                                                  \
    } while (0)

/* Visit every item: vec_each(struct job, job, &jobs) { ... job->id ... } */
#define vec_each(type, item, v)                                                          \
    for (type *item = (v)->items; item && item < (v)->items + (v)->count; item++)
