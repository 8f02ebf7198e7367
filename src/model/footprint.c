/* footprint.c - see footprint.h */
#include "model/footprint.h"

#include "base/vec.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CONTEXT_GB         0.55  /* what the driver takes for a process */
#define GB_PER_MILLION     0.016 /* weights, gradients, two moments, in float */
#define UNTOLD_GB          4.0
#define USABLE             0.97 /* share of a card's memory jobs can have */
#define SLACK_GB           0.3 /* uncertainty of a sum of footprints: this, and a share */
#define SLACK_SHARE_TOLD   0.08
#define SLACK_SHARE_UNTOLD 0.5
#define FAILED_MARGIN      1.05
#define MEMBERS_MAX        8
#define FAILED_PROBABILITY 0.0
#define FAILURES_MAX       4096

struct failure {
    int type;
    size_t count;
    int classes[MEMBERS_MAX]; /* sorted */
};

struct footprint {
    vec_of(struct footprint_item) items;
    vec_of(struct failure) failures;
};

struct footprint *footprint_create(void)
{
    return mem_new(struct footprint);
}

void footprint_destroy(struct footprint *f)
{
    if (!f)
        return;
    vec_free(&f->items);
    vec_free(&f->failures);
    free(f);
}

struct footprint_item footprint_of(const struct job_descriptor *d, double told_gb)
{
    double batch = d->batch > 0 ? d->batch : 1;
    bool described = d->params_millions > 0 || d->memory_mb_per_sample > 0;
    struct footprint_item item = {UNTOLD_GB, told_gb > 0 || described};

    if (told_gb > 0)
        item.gb = told_gb;
    else if (described)
        item.gb = CONTEXT_GB + GB_PER_MILLION * d->params_millions +
                  d->memory_mb_per_sample * batch / 1000;
    return item;
}

int footprint_add(struct footprint *f, const struct job_descriptor *d, double told_gb)
{
    vec_push(&f->items, footprint_of(d, told_gb));
    return (int)f->items.count - 1;
}

double footprint_gb(const struct footprint *f, int cls)
{
    return f->items.items[cls].gb;
}

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t sorted(const int *classes, size_t count, int *out)
{
    size_t used = count < MEMBERS_MAX ? count : MEMBERS_MAX;

    memcpy(out, classes, used * sizeof(*out));
    qsort(out, used, sizeof(*out), by_number);
    return used;
}

/* Every class of the failure is among these: more jobs need more memory. */
static bool contains(const int *classes, size_t count, const struct failure *failure)
{
    size_t found = 0;

    for (size_t i = 0; i < count && found < failure->count; i++)
        found += classes[i] == failure->classes[found];
    return found == failure->count;
}

double footprint_fits(const struct footprint *f, int type, double memory_gb,
                      const int *classes, size_t count,
                      const struct footprint_item *guests)
{
    int members[MEMBERS_MAX];
    size_t used = sorted(classes, count, members);
    double sum = 0, slack = SLACK_GB;

    vec_each (const struct failure, failure, &f->failures)
        if (failure->type == type && contains(members, used, failure))
            return FAILED_PROBABILITY;
    for (size_t i = 0; i < count; i++) {
        size_t cls = (size_t)classes[i], known = f->items.count;
        const struct footprint_item *item =
            cls < known ? &f->items.items[cls] : &guests[cls - known];

        sum += item->gb;
        slack += item->gb * (item->told ? SLACK_SHARE_TOLD : SLACK_SHARE_UNTOLD) / 2;
    }
    return 1 / (1 + exp(-(USABLE * memory_gb - sum) / slack));
}

bool footprint_failed_alone(const struct footprint *f, int cls)
{
    vec_each (const struct failure, failure, &f->failures)
        if (failure->count == 1 && failure->classes[0] == cls)
            return true;
    return false;
}

static double sum_of(const struct footprint *f, const int *classes, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += f->items.items[classes[i]].gb;
    return sum;
}

static void rescale(struct footprint *f, const int *classes, size_t count, double to_gb)
{
    double factor = to_gb / sum_of(f, classes, count);

    for (size_t i = 0; i < count; i++) {
        bool repeated = false;

        for (size_t j = 0; j < i; j++)
            repeated = repeated || classes[j] == classes[i];
        if (!repeated)
            f->items.items[classes[i]].gb *= factor;
    }
}

void footprint_ran(struct footprint *f, double memory_gb, const int *classes,
                   size_t count)
{
    if (sum_of(f, classes, count) > USABLE * memory_gb)
        rescale(f, classes, count, USABLE * memory_gb);
}

/* One that contains a failure known already adds nothing; when there are very many the
 * oldest goes. */
static void remember(struct footprint *f, const struct failure *failure)
{
    vec_each (const struct failure, known, &f->failures)
        if (known->type == failure->type &&
            contains(failure->classes, failure->count, known))
            return;
    if (f->failures.count == FAILURES_MAX) {
        memmove(f->failures.items, f->failures.items + 1,
                (FAILURES_MAX - 1) * sizeof(*f->failures.items));
        f->failures.count--;
    }
    vec_push(&f->failures, *failure);
}

void footprint_failed(struct footprint *f, int type, double memory_gb, const int *classes,
                      size_t count)
{
    struct failure failure = {.type = type};

    failure.count = sorted(classes, count, failure.classes);
    remember(f, &failure);
    if (sum_of(f, classes, count) < FAILED_MARGIN * memory_gb)
        rescale(f, classes, count, FAILED_MARGIN * memory_gb);
}

/* The classes as they will be numbered; false when one of them is left out. */
static bool renumbered(const struct failure *failure, const struct bytes_out *out,
                       struct failure *to)
{
    *to = *failure;
    for (size_t i = 0; i < failure->count; i++) {
        to->classes[i] = bytes_class(out, failure->classes[i]);
        if (to->classes[i] < 0)
            return false;
    }
    qsort(to->classes, to->count, sizeof(to->classes[0]), by_number);
    return true;
}

void footprint_write(const struct footprint *f, struct bytes_out *out)
{
    struct failure to;

    for (size_t j = 0; j < f->items.count; j++)
        if (bytes_class(out, (int)j) >= 0) {
            bytes_put_u64(out, 1 + f->items.items[j].told);
            bytes_put_real(out, f->items.items[j].gb);
        }
    bytes_put_u64(out, 0);
    vec_each (const struct failure, failure, &f->failures)
        if (renumbered(failure, out, &to)) {
            bytes_put_u64(out, to.count);
            bytes_put_u64(out, (uint64_t)to.type);
            for (size_t i = 0; i < to.count; i++)
                bytes_put_u64(out, (uint64_t)to.classes[i]);
        }
    bytes_put_u64(out, 0);
}

void footprint_read(struct footprint *f, struct bytes_in *in)
{
    int told, members;

    while ((told = bytes_int(in, 0, 2)) > 0) {
        struct footprint_item item = {bytes_real(in), told == 2};

        vec_push(&f->items, item);
    }
    while ((members = bytes_int(in, 0, MEMBERS_MAX)) > 0) {
        struct failure failure = {.count = (size_t)members};

        failure.type = bytes_int(in, 0, INT_MAX);
        for (int i = 0; i < members; i++)
            failure.classes[i] = bytes_int(in, 0, (int)f->items.count - 1);
        vec_push(&f->failures, failure);
    }
}

int footprint_count(const struct footprint *f)
{
    return (int)f->items.count;
}
