/* learned_checkpoint.c - the learned model as bytes, and with fewer classes; see
 * learned.h
 *
 * "CORGILRN", version (8 bytes), size of the whole (8), the state, last a CRC-32 of all
 * before it (8). */
#include "model/learned.h"

#include "base/mem.h"
#include "model/learned_private.h"
#include "model/pairs.h"
#include "nn/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION  4
#define MAGIC    "CORGILRN"
#define OVERHEAD 32

static void put_name(const char *name, struct bytes_out *out)
{
    bytes_put_u64(out, strlen(name));
    bytes_put(out, name, strlen(name));
}

static void put_types(const struct learned *l, struct bytes_out *out)
{
    bytes_put_u64(out, (uint64_t)l->type_count);
    for (int t = 0; t < l->type_count; t++)
        put_name(l->types[t].name, out);
}

static void put_kept(const struct learned *l, struct bytes_out *out)
{
    for (size_t i = 0; i < l->kept.count; i++) {
        const struct learned_class *c = &l->kept.items[i];

        if (bytes_class(out, (int)i) < 0)
            continue;
        bytes_put_u64(out, 1);
        bytes_put_u64(out, c->name);
        bytes_put_u64(out, c->family);
        bytes_put_real(out, c->params_millions);
        bytes_put_u64(out, c->service);
        bytes_put_u64(out, (uint64_t)(int64_t)bytes_class(out, c->twin));
        bytes_put_u64(out, c->used);
    }
    bytes_put_u64(out, 0);
    bytes_put_u64(out, (uint64_t)intern_count(l->families));
    for (int f = 0; f < intern_count(l->families); f++)
        put_name(intern_name(l->families, f), out);
}

static void put_all(const struct learned *l, struct bytes_out *out)
{
    const double reals[] = {l->service.mean,   l->service.weight, l->service.used,
                            l->wander,         l->wander_s,       l->products,
                            l->product_weight, l->adapted_s};
    const uint64_t counts[] = {l->counts.rates,
                               l->counts.pairs,
                               l->counts.changes,
                               l->counts.failures,
                               l->adapted_at,
                               l->stamp,
                               l->came};

    put_types(l, out);
    put_kept(l, out);
    pooled_write(&l->noise[0], out);
    pooled_write(&l->noise[1], out);
    pooled_write(&l->alone, out);
    pooled_write(&l->beside, out);
    bytes_put_reals(out, reals, sizeof(reals) / sizeof(reals[0]));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        bytes_put_u64(out, counts[i]);
    classes_write(l->classes, out);
    gangs_write(l->scale, out);
    job_effects_write(l->own, out);
}

static bool get_name(struct bytes_in *in, char *name, size_t size)
{
    size_t length = bytes_count(in, size - 1, 1);

    name[0] = 0;
    if (!bytes_get(in, name, length))
        return false;
    name[length] = 0;
    return strlen(name) == length;
}

static int check_types(const struct learned *l, struct bytes_in *in, struct err *err)
{
    int count = bytes_int(in, 0, 4096);
    char name[GPU_NAME_SIZE];

    for (int t = 0; t < count && !in->bad; t++)
        if (!get_name(in, name, sizeof(name)) || t >= l->type_count ||
            strcmp(name, l->types[t].name) != 0)
            return err_set(err, ERR_INVALID,
                           "what was learned is of other GPU types than this cluster's");
    if (count != l->type_count)
        return err_set(err, ERR_INVALID,
                       "what was learned is of %d GPU types, this cluster has %d", count,
                       l->type_count);
    return 0;
}

static void get_kept(struct learned *l, struct bytes_in *in)
{
    char name[DESCRIPTOR_FAMILY_SIZE];
    size_t families;

    while (bytes_int(in, 0, 1)) {
        struct learned_class c = {.name = bytes_u64(in)};

        c.family = bytes_u64(in);
        c.params_millions = bytes_real(in);
        c.service = bytes_int(in, 0, 1);
        c.twin = bytes_int(in, -1, LEARNED_CLASSES);
        c.used = bytes_u64(in);
        map_put(l->names, c.name, l->kept.count);
        vec_push(&l->kept, c);
    }
    vec_each (const struct learned_class, c, &l->kept)
        if (c->twin >= (int)l->kept.count)
            in->bad = true;
    families = bytes_count(in, LEARNED_FAMILIES, 8);
    for (size_t f = 0; f < families && get_name(in, name, sizeof(name)); f++)
        intern_id(l->families, name);
}

/* Jobs that were here are here: their classes count them. */
static void count_jobs(struct learned *l)
{
    for (size_t i = 0; i < l->kept.count; i++)
        classes_arrive(l->classes, (int)i, 0);
    for (const struct job_own *own = job_effects_next(l->own, NULL); own;
         own = job_effects_next(l->own, own))
        classes_arrive(l->classes, own->cls, 1);
}

static void get_all(struct learned *l, struct bytes_in *in)
{
    double *const reals[] = {&l->service.mean,   &l->service.weight, &l->service.used,
                             &l->wander,         &l->wander_s,       &l->products,
                             &l->product_weight, &l->adapted_s};
    uint64_t counts[7];

    get_kept(l, in);
    pooled_read(&l->noise[0], in);
    pooled_read(&l->noise[1], in);
    pooled_read(&l->alone, in);
    pooled_read(&l->beside, in);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        *reals[i] = bytes_real(in);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        counts[i] = bytes_u64(in);
    l->counts = (struct learned_counts){counts[0], counts[1], counts[2], counts[3]};
    l->adapted_at = counts[4];
    l->stamp = counts[5];
    l->came = counts[6];
    classes_read(l->classes, in);
    if (classes_count(l->classes) != l->kept.count)
        in->bad = true;
    if (l->adapted_at > classes_pairs(l->classes))
        l->adapted_at = classes_pairs(l->classes); /* classes were left out */
    gangs_read(l->scale, in);
    if (in->bad)
        return;
    job_effects_read(l->own, (int)l->kept.count, in);
    if (!in->bad)
        count_jobs(l);
}

/* A model for the same cluster, filled from the bytes of a state. */
static struct learned *read_state(const struct learned *like, struct bytes_in *in,
                                  struct err *err)
{
    struct model fresh = learned_create(like->types, like->type_count, &like->options);
    struct learned *l = fresh.self;

    if (check_types(l, in, err) < 0)
        goto failed;
    get_all(l, in);
    if (in->bad || in->left > 0) {
        err_set(err, ERR_FORMAT, "what was learned cannot be read: it is damaged");
        goto failed;
    }
    return l;
failed:
    fresh.ops->destroy(l);
    return NULL;
}

/* Put what the other holds in place of what this one holds, and end the other. */
static void replace(struct learned *l, struct learned *by)
{
    struct learned old = *l;

    *l = *by;
    l->version = l->generation = old.version + 1;
    *by = old;
    learned_model_ops()->destroy(by);
}

void learned_save(const void *self, unsigned char **bytes, size_t *count)
{
    struct bytes_out out = {0};

    bytes_put(&out, MAGIC, 8);
    bytes_put_u64(&out, VERSION);
    bytes_put_u64(&out, 0); /* the size, below */
    put_all(self, &out);
    for (int i = 0; i < 8; i++)
        out.items[16 + i] = (unsigned char)((uint64_t)(out.count + 8) >> (8 * i));
    bytes_put_u64(&out, weights_crc(out.items, out.count));
    *bytes = out.items;
    *count = out.count;
}

int learned_load(void *self, const void *bytes, size_t count, struct err *err)
{
    struct bytes_in in = {bytes, count, false};
    struct bytes_in end;
    char magic[8];
    struct learned *l;

    if (!bytes_get(&in, magic, 8) || memcmp(magic, MAGIC, 8) != 0)
        return err_set(err, ERR_FORMAT, "this is not what a model has learned");
    if (bytes_u64(&in) != VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "what was learned is of another version of Corgi");
    if (bytes_u64(&in) != count || count < OVERHEAD)
        return err_set(err, ERR_FORMAT, "what was learned is cut short");
    end = (struct bytes_in){(const unsigned char *)bytes + count - 8, 8, false};
    if (bytes_u64(&end) != weights_crc(bytes, count - 8))
        return err_set(err, ERR_FORMAT,
                       "what was learned is damaged: its checksum fails");
    in.left -= 8;
    l = read_state(self, &in, err);
    if (!l)
        return -1;
    replace(self, l);
    return 0;
}

static int by_use(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* New numbers for the classes that stay: those with jobs here and those used last. */
static int *choose_classes(const struct learned *l, size_t stay)
{
    size_t n = l->kept.count;
    int *renumber = mem_array(int, n + 1), next = 0;
    uint64_t *used = mem_array(uint64_t, n + 1), since;
    bool *here = mem_array(bool, n + 1);

    for (const struct job_own *own = job_effects_next(l->own, NULL); own;
         own = job_effects_next(l->own, own))
        here[own->cls] = true;
    for (size_t i = 0; i < n; i++)
        used[i] = l->kept.items[i].used;
    qsort(used, n, sizeof(*used), by_use);
    since = used[n - stay];
    for (size_t i = 0; i < n; i++)
        renumber[i] = here[i] || l->kept.items[i].used >= since ? next++ : -1;
    free(used);
    free(here);
    return renumber;
}

void learned_compact(struct learned *l)
{
    int *renumber = choose_classes(l, 3 * (size_t)LEARNED_CLASSES / 4);
    struct bytes_out out = {.renumber = renumber};
    struct bytes_in in;
    struct learned *fewer;

    put_all(l, &out);
    in = (struct bytes_in){out.items, out.count, false};
    fewer = read_state(l, &in, NULL);
    if (fewer)
        replace(l, fewer);
    bytes_out_fini(&out);
    free(renumber);
}

/* ---- lessons ----------------------------------------------------------------------- */

struct learned_lesson {
    struct pairs *pairs;
    uint64_t seed;
};

struct learned_lesson *learned_lesson_create(void *self, double now_s)
{
    struct learned *l = self;
    struct learned_lesson *lesson = mem_new(struct learned_lesson);

    lesson->pairs = classes_pairs_dup(l->classes);
    lesson->seed = l->options.seed;
    l->adapted_at = classes_pairs(l->classes);
    l->adapted_s = now_s;
    return lesson;
}

void learned_lesson_study(struct learned_lesson *lesson)
{
    pairs_adapt(lesson->pairs, lesson->seed);
}

void learned_lesson_take(void *self, struct learned_lesson *lesson)
{
    struct learned *l = self;

    l->version++;
    classes_pairs_take(l->classes, lesson->pairs);
    free(lesson);
}

void learned_lesson_destroy(struct learned_lesson *lesson)
{
    if (!lesson)
        return;
    pairs_destroy(lesson->pairs);
    free(lesson);
}

struct learned_progress learned_progress(const void *self)
{
    const struct learned *l = self;

    if (l->options.initial_only) /* nothing is fitted */
        return (struct learned_progress){0};
    return (struct learned_progress){classes_pairs(l->classes), l->adapted_at,
                                     l->adapted_s};
}
