/* learned_checkpoint.c - the learned model as bytes, and with fewer classes: the daemon
 * saves and loads it through loop/loop_admin.c
 *
 * "CORGILRN", version (8 bytes), size of the whole (8), the state, last a CRC-32 of all
 * before it (8). */
#include "model/learned.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/learned_private.h"
#include "nn/weights.h"

#include <stdlib.h>
#include <string.h>

#define VERSION  12
#define MAGIC    "CORGILRN"
#define OVERHEAD 32

static int code_types(const struct learned *l, struct codec *c, struct err *err)
{
    int count = l->classes->type_count;
    char name[GPU_NAME_SIZE];

    codec_int(c, &count, 0, 4096);
    for (int t = 0; t < count && !codec_bad(c); t++) {
        if (c->out)
            str_copy(name, sizeof(name), l->classes->types[t].name);
        codec_text(c, name, sizeof(name));
        if (codec_bad(c) || t >= l->classes->type_count ||
            strcmp(name, l->classes->types[t].name) != 0)
            return err_set(err, ERR_INVALID,
                           "what was learned is of other GPU types than this cluster's");
    }
    if (count != l->classes->type_count)
        return err_set(err, ERR_INVALID,
                       "what was learned is of %d GPU types, this cluster has %d", count,
                       l->classes->type_count);
    return 0;
}

static void code_families(struct intern *families, struct codec *c)
{
    size_t count = codec_count(c, (size_t)intern_count(families), KERNEL_FAMILIES, 8);
    char name[LEARNED_FAMILY_SIZE];

    for (size_t f = 0; f < count && !codec_bad(c); f++) {
        if (c->out)
            str_copy(name, sizeof(name), intern_name(families, (int)f));
        codec_text(c, name, sizeof(name));
        if (c->in && !c->in->bad)
            intern_id(families, name);
    }
}

static void code_kept(struct learned *l, struct codec *c)
{

    for (size_t i = 0; codec_next(c, &i, l->kept.count); i++) {
        struct learned_class k = {0};

        if (c->out) {
            k = l->kept.items[i];
            k.twin = bytes_class(c->out, k.twin);
        }
        codec_u64(c, &k.name);
        codec_u64(c, &k.family);
        codec_u64(c, &k.kind_name);
        codec_real(c, &k.params_millions);
        codec_bool(c, &k.service);
        codec_int(c, &k.twin, -1, PAIRS_MAX_JOBS);
        codec_u64(c, &k.used);
        if (c->in) {
            map_put(l->names, k.name, l->kept.count);
            vec_push(&l->kept, k);
        }
    }
    vec_each (const struct learned_class, k, &l->kept)
        if (c->in && k->twin >= (int)l->kept.count)
            c->in->bad = true;
    code_families(l->families, c);
    code_families(l->own_families, c);
}

/* Each class knows its kind and its user. */
static void link_classes(struct learned *l)
{
    for (size_t i = 0; i < l->kept.count; i++) {
        struct learned_class *k = &l->kept.items[i];

        k->kind = l->classes->states.items[i].kind;
        k->user = l->classes->states.items[i].user;
        map_put(l->kind_names, k->kind_name, (size_t)k->kind);
    }
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

/* Everything but the types. */
static void code_all(struct learned *l, struct codec *c)
{
    double *const reals[] = {&l->service.used, &l->adapted_s};
    uint64_t *const counts[] = {&l->counts.rates,
                                &l->counts.pairs,
                                &l->counts.changes,
                                &l->counts.failures,
                                &l->adapted_at,
                                &l->stamp,
                                &l->came};

    code_kept(l, c);
    learned_users_code(l, c);
    calibration_code(&l->calibration, c);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        codec_real(c, reals[i]);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        codec_u64(c, counts[i]);
    classes_code(l->classes, c);
    if (c->in && l->classes->states.count != l->kept.count)
        c->in->bad = true;
    if (c->in && !c->in->bad)
        link_classes(l);
    if (c->in && l->adapted_at > l->classes->beside.count)
        l->adapted_at = l->classes->beside.count; /* classes were left out */
    mean_book_code(l->scale->book, c);
    if (!codec_bad(c))
        job_effects_code(l->own,
                         &(struct job_effects_counts){l->classes->type_count,
                                                      l->kept.count,
                                                      l->classes->kinds.count},
                         c);
    if (c->in && !c->in->bad)
        count_jobs(l);
}

/* A model for the same cluster, filled from the bytes of a state. */
static struct learned *read_state(const struct learned *like, struct bytes_in *in,
                                  struct err *err)
{
    struct model fresh =
        learned_create(like->classes->types, like->classes->type_count, &like->options);
    struct learned *l = fresh.self;
    struct codec c = {.in = in};

    if (code_types(l, &c, err) < 0)
        goto failed;
    code_all(l, &c);
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
    l->class_room = old.class_room;
    l->cell_room = old.cell_room;
    l->version = l->generation = old.version + 1;
    *by = old;
    learned_ops.destroy(by);
}

static void write_state(struct learned *l, struct bytes_out *out)
{
    struct codec c = {.out = out};

    code_types(l, &c, NULL);
    code_all(l, &c);
}

void learned_save(void *self, unsigned char **bytes, size_t *count)
{
    struct bytes_out out = {0};

    bytes_put(&out, MAGIC, 8);
    bytes_put_u64(&out, VERSION);
    bytes_put_u64(&out, 0); /* the size, below */
    write_state(self, &out);
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

/* A class that may be forgotten. */
struct candidate {
    int cls, user;
    uint64_t used;
    size_t newer; /* classes of its user that were used after it */
};

static int by_user_and_use(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->user != y->user)
        return (x->user > y->user) - (x->user < y->user);
    return (x->used < y->used) - (x->used > y->used);
}

static int by_worth(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->newer != y->newer)
        return (x->newer > y->newer) - (x->newer < y->newer);
    return (x->used < y->used) - (x->used > y->used);
}

/* New numbers for the classes that stay: those with jobs here and those used last, as
 * many of each user as there is room for: none makes the others' be forgotten. */
static int *choose_classes(const struct learned *l, size_t stay)
{
    size_t n = l->kept.count;
    int *renumber = mem_array(int, n + 1), next = 0;
    struct candidate *all = mem_array(struct candidate, n + 1);
    bool *keep = mem_array(bool, n + 1);

    for (size_t i = 0; i < n; i++)
        all[i] =
            (struct candidate){(int)i, l->kept.items[i].user, l->kept.items[i].used, 0};
    qsort(all, n, sizeof(*all), by_user_and_use);
    for (size_t i = 1; i < n; i++)
        all[i].newer = all[i].user == all[i - 1].user ? all[i - 1].newer + 1 : 0;
    qsort(all, n, sizeof(*all), by_worth);
    for (size_t i = 0; i < stay && i < n; i++)
        keep[all[i].cls] = true;
    for (const struct job_own *own = job_effects_next(l->own, NULL); own;
         own = job_effects_next(l->own, own))
        keep[own->cls] = true;
    for (size_t i = 0; i < n; i++)
        renumber[i] = keep[i] ? next++ : -1;
    free(all);
    free(keep);
    return renumber;
}

/* Kinds stay with their classes. */
static int *choose_kinds(const struct learned *l, const int *classes)
{
    size_t n = l->classes->kinds.count;
    int *renumber = mem_array(int, n + 1), next = 0;

    for (size_t k = 0; k < n; k++) {
        renumber[k] = -1;
        vec_each (const int, cls, &l->classes->kinds.items[k].classes)
            if (classes[*cls] >= 0 && renumber[k] < 0)
                renumber[k] = next++;
    }
    return renumber;
}

void learned_compact(struct learned *l)
{
    int *renumber = choose_classes(l, 3 * (size_t)LEARNED_CLASSES / 4);
    int *kinds = choose_kinds(l, renumber);
    struct bytes_out out = {.renumber = renumber, .renumber_kinds = kinds};
    struct bytes_in in;
    struct learned *fewer;

    write_state(l, &out);
    in = (struct bytes_in){out.items, out.count, false};
    fewer = read_state(l, &in, NULL);
    if (fewer)
        replace(l, fewer);
    bytes_out_fini(&out);
    free(renumber);
    free(kinds);
}

/* ---- lessons ----------------------------------------------------------------------- */

struct learned_lesson *learned_lesson_create(void *self, double now_s)
{
    struct learned *l = self;

    l->adapted_at = l->classes->beside.count;
    l->adapted_s = now_s;
    classes_tell_rates(l->classes);
    return learned_lesson_begin(l->classes->pairs, l->options.seed);
}

void learned_lesson_take(void *self, struct learned_lesson *lesson)
{
    struct learned *l = self;

    l->version++;
    learned_lesson_end(lesson, l->classes->pairs);
    l->classes->news.lessons++;
}

struct learned_progress learned_progress(const void *self)
{
    const struct learned *l = self;

    if (l->options.initial_only) /* nothing is fitted */
        return (struct learned_progress){0};
    return (struct learned_progress){l->classes->beside.count, l->adapted_at,
                                     l->adapted_s};
}

const struct network_progress *learned_networks(const void *self)
{
    const struct learned *l = self;

    return l->classes->pairs->progress;
}
