/* gpu_sheet.c - looking up and checking data sheets, see gpu_sheet.h */
#include "world/gpu_sheet.h"

#include "world/gpu_catalogue_private.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define REDUCED_SIZE 64

const struct gpu_sheet *gpu_catalogue(size_t *count)
{
    *count = gpu_catalogue_size;
    return gpu_catalogue_cards;
}

/* Makers and brands say nothing that the rest of a product name does not. */
static bool is_brand(const char *word, size_t length)
{
    static const char *const brands[] = {"nvidia",  "tesla", "quadro",
                                         "geforce", "amd",   "instinct"};

    for (size_t i = 0; i < sizeof(brands) / sizeof(brands[0]); i++)
        if (strlen(brands[i]) == length && !strncmp(word, brands[i], length))
            return true;
    return false;
}

/* "Tesla V100-SXM2-16GB" -> "v100sxm216gb": lower case, no brands, letters and digits
 * only.  A name that does not fit reduces to nothing, which matches nothing. */
static void reduce(const char *name, char reduced[REDUCED_SIZE])
{
    size_t used = 0;

    while (*name) {
        size_t start = used;

        for (; isalnum((unsigned char)*name); name++) {
            if (used + 1 == REDUCED_SIZE) {
                reduced[0] = '\0';
                return;
            }
            reduced[used++] = (char)tolower((unsigned char)*name);
        }
        if (is_brand(reduced + start, used - start))
            used = start;
        while (*name && !isalnum((unsigned char)*name))
            name++;
    }
    reduced[used] = '\0';
}

static bool reduces_to(const char *name, const char *reduced)
{
    char other[REDUCED_SIZE];

    reduce(name, other);
    return other[0] && !strcmp(other, reduced);
}

bool gpu_named(const struct gpu_sheet *sheet, const char *name)
{
    char reduced[REDUCED_SIZE];

    if (!strcasecmp(sheet->name, name))
        return true; /* even if it is nothing but brands, or too long to reduce */
    reduce(name, reduced);
    if (reduces_to(sheet->name, reduced) || reduces_to(sheet->title, reduced))
        return true;
    for (size_t i = 0; i < gpu_catalogue_alias_count; i++)
        if (!strcmp(gpu_catalogue_aliases[i].name, sheet->name) &&
            reduces_to(gpu_catalogue_aliases[i].alias, reduced))
            return true;
    return false;
}

const struct gpu_sheet *gpu_find(const char *name)
{
    for (size_t i = 0; i < gpu_catalogue_size; i++)
        if (gpu_named(&gpu_catalogue_cards[i], name))
            return &gpu_catalogue_cards[i];
    return NULL;
}

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
