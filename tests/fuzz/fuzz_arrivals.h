/* fuzz_arrivals.h - what holds of every list of arrivals that is taken */
#pragma once

#include "fixture/text_file.h"
#include "lab/traces/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline void fuzz_check_arrival(const struct arrival *a)
{
    if (!(a->at_s >= 0) || !(a->duration_s > 0) || !isfinite(a->at_s + a->duration_s) ||
        a->devices < 1 || a->devices > ARRIVALS_MAX_DEVICES || !(a->share >= 0) ||
        a->share >= 1 || !memchr(a->gpus, '\0', sizeof(a->gpus)) ||
        !memchr(a->ran_on, '\0', sizeof(a->ran_on)))
        abort();
}

static inline void fuzz_check_arrivals(const struct arrivals *list)
{
    if (list->count == 0 || list->items[0].at_s != 0)
        abort();
    for (size_t i = 0; i < list->count; i++) {
        fuzz_check_arrival(&list->items[i]);
        if (i > 0 && list->items[i].at_s < list->items[i - 1].at_s)
            abort();
    }
}

static inline int fuzz_read_arrivals(const uint8_t *data, size_t size,
                                     enum arrivals_format format)
{
    struct arrivals list = {0};
    struct err err = {0};

    if (arrivals_load(&list, text_file_of("fuzz", data, size), format, &err) < 0) {
        if (list.items || !err.text[0])
            abort();
        return 0;
    }
    fuzz_check_arrivals(&list);
    arrivals_fini(&list);
    return 0;
}
