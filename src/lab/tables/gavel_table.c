/* gavel_table.c - Gavel's JSON to a world: scenario.c, eval.c and the bench load it */
#include "lab/tables/gavel_table.h"

#include "base/file.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/str.h"
#include "lab/tables/utilisation.h"
#include "lab/tables/world_check.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_MARK "_unconsolidated"

/* Steps/s beyond this are a slipped unit. */
#define MAX_RATE  1e6
#define MAX_SCALE 1024

enum { SEEN_ALONE = 1, SEEN_SPREAD = 2 };

struct gavel_reader {
    const char *path;
    const struct json_value *root;
    struct intern *types;   /* catalogue keys, in order of first sight */
    struct intern *classes; /* table keys "('job', 1)", in order of first sight */
    struct world *world;
    unsigned seen[WORLD_MAX_GPUS]; /* which of the two kinds of rates a type has */
    struct gavel_notes notes;
    struct err *err;
};

/* "FILE: k80 -> ('A3C', 1) -> null: sentence"; NULL ends the path early. */
static int refuse(const struct gavel_reader *r, enum err_code code, const char *type,
                  const char *key, const char *other, const char *sentence)
{
    return err_set(r->err, code, "%s: %.40s%s%.100s%s%.100s: %s", r->path, type,
                   key ? " -> " : "", key ? key : "", other ? " -> " : "",
                   other ? other : "", sentence);
}

/* The two parts of "('ResNet-18 (batch size 16)', 2)", as Python writes a tuple; a name
 * alone is that of a job on one device. */
static bool split_key(const char *key, char name[WORLD_NAME_SIZE], int *scale)
{
    char quote = key[0] == '(' ? key[1] : '\0';
    const char *end = quote == '\'' || quote == '"' ? strrchr(key + 2, quote) : NULL;
    size_t length = end ? (size_t)(end - key - 2) : 0;
    char digits[8] = "";

    if (key[0] != '(') {
        *scale = 1;
        snprintf(name, WORLD_NAME_SIZE, "%s", key);
        return key[0] && strlen(key) < WORLD_NAME_SIZE && strcmp(key, "null");
    }
    if (length == 0 || length >= WORLD_NAME_SIZE || !str_starts(end + 1, ", ") ||
        !str_ends(key, ")") || strlen(end + 3) > sizeof(digits))
        return false;
    memcpy(digits, end + 3, strlen(end + 3) - 1);
    if (!parse_int(digits, scale) || *scale < 1 || *scale > MAX_SCALE)
        return false;
    memcpy(name, key + 2, length);
    name[length] = '\0';
    return true;
}

/* The catalogue's card behind a worker type, spread or not; NULL when unknown. */
static const struct gpu_sheet *type_card(const char *type, bool *spread)
{
    char name[64];
    size_t length = strlen(type);

    *spread = str_ends(type, SPREAD_MARK);
    if (*spread)
        length -= strlen(SPREAD_MARK);
    if (length >= sizeof(name))
        return NULL;
    memcpy(name, type, length);
    name[length] = '\0';
    return gpu_find(name);
}

/* ---- first pass: which types and classes there are ----------------------------------
 */

static int collect_keys(struct gavel_reader *r, const char *type,
                        const struct json_value *table)
{
    struct json_iter it = {.object = table};

    if (json_value_kind(table) != JSON_KIND_OBJECT)
        return refuse(r, ERR_FORMAT, type, NULL, NULL, "want an object of jobs");
    while (json_iter_next(&it)) {
        char name[WORLD_NAME_SIZE];
        int scale;

        if (!split_key(it.key, name, &scale))
            return refuse(r, ERR_FORMAT, type, it.key, NULL,
                          "want a key like \"('job', 1)\" or \"job\"");
        if (it.key[0] != '(' && intern_find(r->classes, it.key) < 0)
            r->notes.plain_keys++;
        if (json_value_kind(it.value) != JSON_KIND_OBJECT)
            return refuse(r, ERR_FORMAT, type, it.key, NULL, "want an object of rates");
        intern_id(r->classes, it.key);
        if (intern_count(r->classes) > WORLD_MAX_CLASSES)
            return refuse(r, ERR_LIMIT, type, it.key, NULL, "too many jobs");
    }
    return 0;
}

static int note_type(struct gavel_reader *r, const char *type,
                     const struct gpu_sheet *card, bool spread)
{
    int g = intern_id(r->types, card->name);
    unsigned kind = spread ? SEEN_SPREAD : SEEN_ALONE;

    if (g >= WORLD_MAX_GPUS)
        return refuse(r, ERR_LIMIT, type, NULL, NULL, "too many worker types");
    if (r->seen[g] & kind)
        return refuse(r, ERR_EXISTS, type, NULL, NULL,
                      "another worker type is the same card: keep one of them");
    r->seen[g] |= kind;
    return 0;
}

static int collect(struct gavel_reader *r)
{
    struct json_iter it = {.object = r->root};

    if (json_value_count(it.object) == 0)
        return refuse(r, ERR_FORMAT, "table", NULL, NULL,
                      "want an object of worker types");
    while (json_iter_next(&it)) {
        bool spread;
        const struct gpu_sheet *card = type_card(it.key, &spread);

        if (!card)
            return refuse(r, ERR_NOT_FOUND, it.key, NULL, NULL,
                          "no such GPU in the catalogue: use a name it knows");
        if (note_type(r, it.key, card, spread) < 0 ||
            collect_keys(r, it.key, it.value) < 0)
            return -1;
    }
    for (int g = 0; g < intern_count(r->types); g++)
        if (!(r->seen[g] & SEEN_ALONE))
            return refuse(r, ERR_FORMAT, intern_name(r->types, g), NULL, NULL,
                          "has only the rates spread over servers: add the others");
    if (intern_count(r->classes) == 0)
        return refuse(r, ERR_FORMAT, "table", NULL, NULL, "there are no jobs in it");
    return 0;
}

/* ---- second pass: classes and rates alone -------------------------------------------
 */

static int fill_classes(struct gavel_reader *r)
{
    struct world *w = r->world;

    for (int g = 0; g < w->gpu_count; g++)
        w->gpus[g] = *gpu_find(intern_name(r->types, g));
    for (int c = 0; c < w->class_count; c++) {
        struct world_class *cls = &w->classes[c];
        bool good = split_key(intern_name(r->classes, c), cls->name, &cls->scale);

        assert(good); /* the first pass took it */
        (void)good;
        if (descriptors_from_name(&cls->descriptor, cls->name, r->err) < 0)
            return err_prefix(r->err, "%s", r->path);
    }
    return 0;
}

static bool is_rate(const struct json_value *value, double *rate)
{
    return json_value_number(value, rate) && *rate >= 0 && *rate <= MAX_RATE;
}

static int fill_alone(struct gavel_reader *r, const char *type, int g, bool spread,
                      const struct json_value *table)
{
    struct json_iter it = {.object = table};

    while (json_iter_next(&it)) {
        int c = intern_find(r->classes, it.key);
        double rate;

        if (!is_rate(json_value_get(it.value, "null"), &rate))
            return refuse(r, ERR_INVALID, type, it.key, "null",
                          "want the rate alone, 0 to 1e6 steps/s");
        *(spread ? world_spread : world_alone)(r->world, g, c) = (float)rate;
    }
    return 0;
}

/* A scale of 1 cannot be spread, whatever the table repeats there. */
static void settle_spread(const struct gavel_reader *r)
{
    for (int g = 0; g < r->world->gpu_count; g++)
        for (int c = 0; c < r->world->class_count; c++)
            if (r->world->classes[c].scale == 1 || !(r->seen[g] & SEEN_SPREAD))
                *world_spread(r->world, g, c) = *world_alone(r->world, g, c);
}

/* ---- third pass: pairs --------------------------------------------------------------
 */

static bool differ(double a, double b)
{
    return fabs(a - b) > 1e-6 * fmax(1, fmax(a, b));
}

static bool pair_rates(const struct json_value *value, double rates[2])
{
    return json_value_kind(value) == JSON_KIND_ARRAY && json_value_count(value) == 2 &&
           is_rate(json_value_item(value, 0), &rates[0]) &&
           is_rate(json_value_item(value, 1), &rates[1]);
}

/* The relative speed a pair rate stands for.  A rate beside another where there is none
 * alone is no basis for a ratio. */
static float relative(const struct world *w, int g, int c, double rate, bool ran)
{
    double alone = *world_alone(w, g, c);

    if (!ran)
        return 0;
    return alone > 0 && rate > 0 ? (float)fmin(1, rate / alone) : NAN;
}

static int fill_pair(struct gavel_reader *r, const char *type, int g, const char *key,
                     const char *other, const struct json_value *value)
{
    const struct json_value *table = json_value_get(r->root, type);
    const struct json_value *mirror = json_value_get(json_value_get(table, other), key);
    int a = intern_find(r->classes, key), b = intern_find(r->classes, other);
    double rates[2], mirrored[2];
    bool ran;

    if (b < 0)
        return refuse(r, ERR_NOT_FOUND, type, key, other, "the table has no such job");
    if (!pair_rates(value, rates))
        return refuse(r, ERR_INVALID, type, key, other,
                      "want two rates, each 0 to 1e6 steps/s");
    if (a == b && differ(rates[0], rates[1])) {
        rates[0] = rates[1] = (rates[0] + rates[1]) / 2;
        r->notes.self_pairs++;
    } else if (mirror &&
               (!pair_rates(mirror, mirrored) || differ(rates[0], mirrored[1]) ||
                differ(rates[1], mirrored[0]))) {
        return refuse(r, ERR_INVALID, type, key, other,
                      "differs from the same pair the other way round: correct one");
    }
    if (r->world->classes[a].scale != 1 || r->world->classes[b].scale != 1)
        return 0;
    ran = rates[0] > 0 || rates[1] > 0;
    *world_beside(r->world, g, a, b) = relative(r->world, g, a, rates[0], ran);
    *world_beside(r->world, g, b, a) = relative(r->world, g, b, rates[1], ran);
    return 0;
}

static int fill_pairs(struct gavel_reader *r, const char *type, int g,
                      const struct json_value *table)
{
    struct json_iter row = {.object = table};

    while (json_iter_next(&row)) {
        struct json_iter cell = {.object = row.value};

        while (json_iter_next(&cell))
            if (strcmp(cell.key, "null") != 0 &&
                fill_pair(r, type, g, row.key, cell.key, cell.value) < 0)
                return -1;
    }
    return 0;
}

/* ---- all of it ----------------------------------------------------------------------
 */

static int fill(struct gavel_reader *r)
{
    struct json_iter it = {.object = r->root};
    bool spread;

    while (json_iter_next(&it)) {
        int g = intern_find(r->types, type_card(it.key, &spread)->name);

        if (fill_alone(r, it.key, g, spread, it.value) < 0)
            return -1;
    }
    settle_spread(r);
    it = (struct json_iter){.object = r->root};
    while (json_iter_next(&it)) {
        int g = intern_find(r->types, type_card(it.key, &spread)->name);

        if (!spread && fill_pairs(r, it.key, g, it.value) < 0)
            return -1;
    }
    return 0;
}

static int build(struct gavel_reader *r, uint64_t seed)
{
    size_t cells;

    if (collect(r) < 0)
        return -1;
    if (world_check_size((size_t)intern_count(r->types), (size_t)intern_count(r->classes),
                         r->err) < 0)
        return err_prefix(r->err, "%s", r->path);
    r->world = world_create(intern_count(r->types), intern_count(r->classes));
    cells = (size_t)r->world->gpu_count * (size_t)r->world->class_count;
    for (size_t i = 0; i < cells * (size_t)r->world->class_count; i++)
        r->world->beside[i] = NAN;
    if (fill_classes(r) < 0 || fill(r) < 0)
        return -1;
    utilisation_draw(r->world, seed);
    if (world_check(r->world, r->err) < 0)
        return err_prefix(r->err, "%s", r->path);
    return 0;
}

int gavel_load(struct world **world, const char *path, uint64_t seed, struct err *err)
{
    return gavel_load_noted(world, path, seed, NULL, err);
}

int gavel_load_noted(struct world **world, const char *path, uint64_t seed,
                     struct gavel_notes *notes, struct err *err)
{
    struct gavel_reader r = {.path = path, .err = err};
    struct json_doc *doc = NULL;
    char *text;
    size_t length;
    int rc;

    if (file_read(path, JSON_MAX_BYTES, &text, &length, err) < 0)
        return -1;
    rc = json_doc_parse(&doc, text, length, path, err);
    free(text);
    if (rc < 0)
        return -1;
    r.root = json_doc_root(doc);
    r.types = intern_create();
    r.classes = intern_create();
    rc = build(&r, seed);
    if (rc == 0) {
        *world = r.world;
        if (notes)
            *notes = r.notes;
    } else {
        world_destroy(r.world);
    }
    intern_destroy(r.types);
    intern_destroy(r.classes);
    json_doc_destroy(doc);
    return rc;
}
