/* world_check.c - are the tables of a world ones a cluster could have?  The readers of
 * tables ask before they hand a world out. */
#include "lab/tables/world_check.h"

#include "base/intern.h"
#include "base/map.h"

#include <math.h>
#include <string.h>

/* A rate beyond this is a slipped unit, not a fast job. */
#define MAX_RATE      1e9
#define MAX_SCALE     1024
#define MAX_MEMORY_GB 1e4
#define MAX_WATTS     1e4

/* Wide enough for cards of the next ten years and for a part of one processor core,
 * narrow enough to catch a slipped unit. */
static const struct figure {
    const char *name;
    size_t offset;
    double min, max;
} figures[] = {
    {"fp32_tflops", offsetof(struct gpu_sheet, fp32_tflops), 0.001, 5000},
    {"fp16_tflops", offsetof(struct gpu_sheet, fp16_tflops), 0.001, 100000},
    {"bandwidth_gbs", offsetof(struct gpu_sheet, bandwidth_gbs), 0.1, 100000},
    {"memory_gb", offsetof(struct gpu_sheet, memory_gb), 0.01, 10000},
    {"tdp_watts", offsetof(struct gpu_sheet, tdp_watts), 0.1, 10000},
    {"idle_watts", offsetof(struct gpu_sheet, idle_watts), 0, 5000},
    {"cap_min_watts", offsetof(struct gpu_sheet, cap_min_watts), 0, 10000},
};

static bool is_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    if (length == 0 || length == size)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            return false;
    return true;
}

static int check_figures(const struct gpu_sheet *sheet, struct err *err)
{
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        const struct figure *f = &figures[i];
        double value;

        memcpy(&value, (const char *)sheet + f->offset, sizeof(value));
        if (!(value >= f->min && value <= f->max))
            return err_set(err, ERR_INVALID, "GPU %s: %s is %g, want %g to %g",
                           sheet->name, f->name, value, f->min, f->max);
    }
    return 0;
}

int gpu_check(const struct gpu_sheet *sheet, struct err *err)
{
    if (!is_text(sheet->name, sizeof(sheet->name)))
        return err_set(err, ERR_INVALID, "a GPU type has no name: give it one");
    if (check_figures(sheet, err) < 0)
        return -1;
    if (sheet->sms < 1 || sheet->sms > 10000)
        return err_set(err, ERR_INVALID, "GPU %s: sms is %d, want 1 to 10000",
                       sheet->name, sheet->sms);
    if (sheet->year < 2000 || sheet->year > 2100)
        return err_set(err, ERR_INVALID, "GPU %s: year is %d, want 2000 to 2100",
                       sheet->name, sheet->year);
    if (sheet->idle_watts >= sheet->tdp_watts)
        return err_set(err, ERR_INVALID,
                       "GPU %s: idle_watts %g is not below tdp_watts %g", sheet->name,
                       sheet->idle_watts, sheet->tdp_watts);
    if (sheet->cap_min_watts > sheet->tdp_watts ||
        (sheet->cap_min_watts > 0 && sheet->cap_min_watts <= sheet->idle_watts))
        return err_set(err, ERR_INVALID,
                       "GPU %s: cap_min_watts %g is not between idle %g and TDP %g",
                       sheet->name, sheet->cap_min_watts, sheet->idle_watts,
                       sheet->tdp_watts);
    return 0;
}

static int check_class(const struct world_class *c, int index, struct err *err)
{
    const struct job_descriptor *d = &c->descriptor;
    size_t length = strnlen(c->name, sizeof(c->name));

    if (length == 0 || length == sizeof(c->name))
        return err_set(err, ERR_INVALID, "job class %d has no name", index);
    if (c->scale < 1 || c->scale > MAX_SCALE)
        return err_set(err, ERR_INVALID, "%s: scale is %d, want 1 to %d", c->name,
                       c->scale, MAX_SCALE);
    if (!(c->memory_gb >= 0 && c->memory_gb <= MAX_MEMORY_GB))
        return err_set(err, ERR_INVALID, "%s: memory_gb is %g", c->name, c->memory_gb);
    if (strnlen(d->family, sizeof(d->family)) == sizeof(d->family) ||
        (unsigned)d->model >= MODEL_KIND_COUNT || d->batch < 0)
        return err_set(err, ERR_INVALID, "%s: family, model or batch is no such thing",
                       c->name);
    if (!(d->gmac_per_sample >= 0 && d->gmac_per_sample < 1e12 &&
          d->params_millions >= 0 && d->params_millions < 1e9 &&
          d->memory_mb_per_sample >= 0 && d->memory_mb_per_sample < 1e9))
        return err_set(err, ERR_INVALID, "%s: a figure of the descriptor is absurd",
                       c->name);
    return 0;
}

static int check_classes(const struct world *w, struct err *err)
{
    struct intern *names = intern_create();
    struct map *seen = map_create();
    int rc = -1;

    for (int c = 0; c < w->class_count; c++) {
        uint64_t key;
        size_t first;

        if (check_class(&w->classes[c], c, err) < 0)
            goto done;
        key = (uint64_t)intern_id(names, w->classes[c].name) * (MAX_SCALE + 1) +
              (uint64_t)w->classes[c].scale;
        if (map_get(seen, key, &first)) {
            err_set(err, ERR_EXISTS, "%s at scale %d is there twice", w->classes[c].name,
                    w->classes[c].scale);
            goto done;
        }
        map_put(seen, key, (size_t)c);
    }
    rc = 0;
done:
    intern_destroy(names);
    map_destroy(seen);
    return rc;
}

static int check_gpus(const struct world *w, struct err *err)
{
    for (int g = 0; g < w->gpu_count; g++) {
        if (gpu_check(&w->gpus[g], err) < 0)
            return -1;
        for (int h = 0; h < g; h++)
            if (!strcmp(w->gpus[g].name, w->gpus[h].name))
                return err_set(err, ERR_EXISTS, "GPU type %s is there twice",
                               w->gpus[g].name);
    }
    return 0;
}

static bool is_rate(float x)
{
    return x >= 0 && x <= (float)MAX_RATE;
}

static int bad_cell(const struct world *w, int g, int c, const char *what, float value,
                    struct err *err)
{
    return err_set(err, ERR_INVALID, "%s at scale %d on %s: %s is %g", w->classes[c].name,
                   w->classes[c].scale, w->gpus[g].name, what, (double)value);
}

static int check_cell(const struct world *w, int g, int c, struct err *err)
{
    float alone = *world_alone(w, g, c), spread = *world_spread(w, g, c);
    float busy = *world_busy(w, g, c), watts = *world_watts(w, g, c);

    if (!is_rate(alone))
        return bad_cell(w, g, c, "the rate alone", alone, err);
    if (!is_rate(spread) || (w->classes[c].scale == 1 && spread != alone))
        return bad_cell(w, g, c, "the rate spread over nodes", spread, err);
    if (!(busy >= 0 && busy <= 1))
        return bad_cell(w, g, c, "the utilisation", busy, err);
    if (!isnan(watts) && !(watts > 0 && watts <= (float)MAX_WATTS))
        return bad_cell(w, g, c, "the power", watts, err);
    return 0;
}

static int check_pair(const struct world *w, int g, int c, int other, struct err *err)
{
    float own = *world_beside(w, g, c, other), its = *world_beside(w, g, other, c);

    if (!isnan(own) && !(own >= 0 && own <= 1))
        return bad_cell(w, g, c, "a relative speed", own, err);
    if ((own == 0 && its > 0) || (own > 0 && *world_alone(w, g, c) == 0))
        return err_set(err, ERR_INVALID,
                       "%s beside %s on %s: one runs and the other does not",
                       w->classes[c].name, w->classes[other].name, w->gpus[g].name);
    return 0;
}

int world_check_size(size_t gpu_count, size_t class_count, struct err *err)
{
    if (gpu_count < 1 || gpu_count > WORLD_MAX_GPUS)
        return err_set(err, ERR_LIMIT, "%zu GPU types, want 1 to %d", gpu_count,
                       WORLD_MAX_GPUS);
    if (class_count < 1 || class_count > WORLD_MAX_CLASSES)
        return err_set(err, ERR_LIMIT, "%zu job classes, want 1 to %d", class_count,
                       WORLD_MAX_CLASSES);
    if (gpu_count * class_count * class_count > WORLD_MAX_PAIRS)
        return err_set(err, ERR_LIMIT,
                       "%zu job classes on %zu GPU types are too many: leave some out",
                       class_count, gpu_count);
    return 0;
}

int world_check(const struct world *w, struct err *err)
{
    if (world_check_size((size_t)w->gpu_count, (size_t)w->class_count, err) < 0)
        return -1;
    if (check_gpus(w, err) < 0 || check_classes(w, err) < 0)
        return -1;
    for (int g = 0; g < w->gpu_count; g++) {
        for (int c = 0; c < w->class_count; c++) {
            if (check_cell(w, g, c, err) < 0)
                return -1;
            for (int other = 0; other < w->class_count; other++)
                if (check_pair(w, g, c, other, err) < 0)
                    return -1;
        }
    }
    return 0;
}
