/* footprint.c - memory of classes: classes.c asks whether they fit and tells what ran */
#include "model/footprint.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define CONTEXT_GB         0.55  /* what the driver takes for a process */
#define GB_PER_MILLION     0.016 /* weights, gradients, two moments, in float */
#define UNTOLD_GB          4.0
#define USABLE             0.97 /* share of a card's memory jobs can have */
#define SLACK_GB           0.3 /* uncertainty of a sum of footprints: this, and a share */
#define SLACK_SHARE_TOLD   0.08
#define SLACK_SHARE_UNTOLD 0.5
#define FAILED_MARGIN      1.05
#define FAILED_PROBABILITY 0.0
#define FAILURES_MAX       4096

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

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t sorted(const int *classes, size_t count, int *out)
{
    size_t used = count < FOOTPRINT_MEMBERS ? count : FOOTPRINT_MEMBERS;

    memcpy(out, classes, used * sizeof(*out));
    qsort(out, used, sizeof(*out), by_number);
    return used;
}

/* Every class of the failure is among these: more jobs need more memory. */
static bool contains(const int *classes, size_t count,
                     const struct footprint_failure *failure)
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
    int members[FOOTPRINT_MEMBERS];
    size_t used = sorted(classes, count, members);
    double sum = 0, slack = SLACK_GB;

    vec_each (const struct footprint_failure, failure, &f->failures)
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
    vec_each (const struct footprint_failure, failure, &f->failures)
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
static void remember(struct footprint *f, const struct footprint_failure *failure)
{
    vec_each (const struct footprint_failure, known, &f->failures)
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
    struct footprint_failure failure = {.type = type};

    failure.count = sorted(classes, count, failure.classes);
    remember(f, &failure);
    if (sum_of(f, classes, count) < FAILED_MARGIN * memory_gb)
        rescale(f, classes, count, FAILED_MARGIN * memory_gb);
}

/* The classes as they will be numbered; false when one of them is left out. */
static bool renumber(struct footprint_failure *failure, const struct codec *c)
{
    for (size_t i = 0; i < failure->count; i++) {
        failure->classes[i] = bytes_class(c->out, failure->classes[i]);
        if (failure->classes[i] < 0)
            return false;
    }
    qsort(failure->classes, failure->count, sizeof(failure->classes[0]), by_number);
    return true;
}

/* Items, each behind 1 or 2 (told); failures, each behind the number of its members. */
void footprint_code(struct footprint *f, struct codec *c)
{
    for (size_t j = 0; c->in || j < f->items.count; j++) {
        struct footprint_item item = {0};
        int told = 0;

        if (c->out && !codec_kept(c, (int)j))
            continue;
        if (c->out)
            item = f->items.items[j];
        told = 1 + item.told;
        codec_int(c, &told, 0, 2);
        if (told == 0)
            break;
        codec_real(c, &item.gb);
        item.told = told == 2;
        if (c->in)
            vec_push(&f->items, item);
    }
    if (c->out)
        codec_more(c, false);
    for (size_t j = 0; c->in || j < f->failures.count; j++) {
        struct footprint_failure failure = {0};
        int members;

        if (c->out)
            failure = f->failures.items[j];
        if (c->out && !renumber(&failure, c))
            continue;
        members = (int)failure.count;
        codec_int(c, &members, 0, FOOTPRINT_MEMBERS);
        if (members == 0)
            break;
        failure.count = (size_t)members;
        codec_int(c, &failure.type, 0, INT_MAX);
        for (int i = 0; i < members; i++)
            codec_int(c, &failure.classes[i], 0, (int)f->items.count - 1);
        if (c->in)
            vec_push(&f->failures, failure);
    }
    if (c->out)
        codec_more(c, false);
}
