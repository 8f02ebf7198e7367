/* footprint.c - memory of jobs: classes.c asks whether they fit and tells what ran */
#include "model/footprint.h"

#include "base/map.h"

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
#define HELD_MARGIN        1.25 /* what a job holds now it may outgrow */
#define KNOWN_MAX          8192
#define FAILURES_MAX       4096

struct footprint *footprint_create(void)
{
    struct footprint *f = mem_new(struct footprint);

    f->index = map_create();
    return f;
}

void footprint_destroy(struct footprint *f)
{
    if (!f)
        return;
    map_destroy(f->index);
    vec_free(&f->known);
    vec_free(&f->failures);
    free(f);
}

struct footprint_item footprint_of(const struct job_descriptor *d, double told_gb,
                                   uint64_t who)
{
    double batch = d->batch > 0 ? d->batch : 1;
    bool described = d->params_millions > 0 || d->memory_mb_per_sample > 0;
    struct footprint_item item = {who, UNTOLD_GB, told_gb > 0 || described};

    if (told_gb > 0)
        item.gb = told_gb;
    else if (described)
        item.gb = CONTEXT_GB + GB_PER_MILLION * d->params_millions +
                  d->memory_mb_per_sample * batch / 1000;
    return item;
}

/* ---- whom outcomes are of ---------------------------------------------------------- */

static const struct footprint_outcome *find(const struct footprint *f, uint64_t who)
{
    size_t at;

    return map_get(f->index, who, &at) ? &f->known.items[at] : NULL;
}

static void push_known(struct footprint *f, const struct footprint_outcome *outcome)
{
    map_put(f->index, outcome->who, f->known.count);
    vec_push(&f->known, *outcome);
}

/* Of more than are kept the oldest quarter goes: those are believed what they told. */
static void forget_oldest(struct footprint *f)
{
    size_t gone = f->known.count / 4;

    for (size_t i = 0; i < gone; i++)
        map_remove(f->index, f->known.items[i].who);
    f->known.count -= gone;
    memmove(f->known.items, f->known.items + gone,
            f->known.count * sizeof(*f->known.items));
    for (size_t i = 0; i < f->known.count; i++)
        map_put(f->index, f->known.items[i].who, i);
}

static struct footprint_outcome *outcome_of(struct footprint *f, uint64_t who)
{
    size_t at;

    if (map_get(f->index, who, &at))
        return &f->known.items[at];
    if (f->known.count == KNOWN_MAX)
        forget_oldest(f);
    push_known(f, &(struct footprint_outcome){.who = who});
    return &f->known.items[f->known.count - 1];
}

double footprint_gb(const struct footprint *f, const struct footprint_item *item)
{
    const struct footprint_outcome *known = find(f, item->who);

    return known && known->gb > 0 ? known->gb : item->gb;
}

/* ---- what failed ------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t sorted(const struct footprint_item *items, size_t count, uint64_t *out)
{
    size_t used = count < FOOTPRINT_MEMBERS ? count : FOOTPRINT_MEMBERS;

    for (size_t i = 0; i < used; i++)
        out[i] = items[i].who;
    qsort(out, used, sizeof(*out), by_number);
    return used;
}

/* Every one of the failure is among these: more jobs need more memory. */
static bool contains(const uint64_t *who, size_t count,
                     const struct footprint_failure *failure)
{
    size_t found = 0;

    for (size_t i = 0; i < count && found < failure->count; i++)
        found += who[i] == failure->who[found];
    return found == failure->count;
}

static bool is_known_to_fail(const struct footprint *f, int type,
                             const struct footprint_item *items, size_t count)
{
    uint64_t members[FOOTPRINT_MEMBERS] = {0};
    size_t used = sorted(items, count, members);
    bool any = false;

    for (size_t i = 0; i < used && !any; i++) {
        const struct footprint_outcome *known = find(f, members[i]);

        any = known && known->failed;
    }
    if (!any)
        return false;
    vec_each (const struct footprint_failure, failure, &f->failures)
        if (failure->type == type && contains(members, used, failure))
            return true;
    return false;
}

double footprint_fits(const struct footprint *f, int type, double memory_gb,
                      const struct footprint_item *items, size_t count)
{
    double sum = 0, slack = SLACK_GB;

    if (is_known_to_fail(f, type, items, count))
        return FAILED_PROBABILITY;
    for (size_t i = 0; i < count; i++) {
        double gb = footprint_gb(f, &items[i]);

        sum += gb;
        slack += gb * (items[i].told ? SLACK_SHARE_TOLD : SLACK_SHARE_UNTOLD) / 2;
    }
    return 1 / (1 + exp(-(USABLE * memory_gb - sum) / slack));
}

bool footprint_failed_alone(const struct footprint *f, uint64_t who)
{
    const struct footprint_outcome *known = find(f, who);

    if (!known || !known->failed)
        return false;
    vec_each (const struct footprint_failure, failure, &f->failures)
        if (failure->count == 1 && failure->who[0] == who)
            return true;
    return false;
}

/* ---- outcomes ---------------------------------------------------------------------- */

static double sum_of(const struct footprint *f, const struct footprint_item *items,
                     size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += footprint_gb(f, &items[i]);
    return sum;
}

static void rescale(struct footprint *f, const struct footprint_item *items, size_t count,
                    double to_gb)
{
    double factor = to_gb / sum_of(f, items, count);

    for (size_t i = 0; i < count; i++) {
        bool repeated = false;
        double gb = footprint_gb(f, &items[i]);

        for (size_t j = 0; j < i; j++)
            repeated = repeated || items[j].who == items[i].who;
        if (!repeated)
            outcome_of(f, items[i].who)->gb = gb * factor;
    }
}

void footprint_ran(struct footprint *f, double memory_gb,
                   const struct footprint_item *items, size_t count)
{
    if (sum_of(f, items, count) > USABLE * memory_gb)
        rescale(f, items, count, USABLE * memory_gb);
}

void footprint_held(struct footprint *f, const struct footprint_item *item, double gb)
{
    const struct footprint_outcome *known = find(f, item->who);

    if (!item->told && !(known && known->gb > 0))
        outcome_of(f, item->who)->gb = HELD_MARGIN * gb;
    else if (gb > footprint_gb(f, item))
        outcome_of(f, item->who)->gb = gb;
}

/* One that contains a failure known already adds nothing; when there are very many the
 * oldest goes. */
static void remember(struct footprint *f, const struct footprint_failure *failure)
{
    vec_each (const struct footprint_failure, known, &f->failures)
        if (known->type == failure->type && contains(failure->who, failure->count, known))
            return;
    if (f->failures.count == FAILURES_MAX) {
        memmove(f->failures.items, f->failures.items + 1,
                (FAILURES_MAX - 1) * sizeof(*f->failures.items));
        f->failures.count--;
    }
    vec_push(&f->failures, *failure);
    for (size_t i = 0; i < failure->count; i++)
        outcome_of(f, failure->who[i])->failed = true;
}

void footprint_failed(struct footprint *f, int type, double memory_gb,
                      const struct footprint_item *items, size_t count)
{
    struct footprint_failure failure = {.type = type};

    failure.count = sorted(items, count, failure.who);
    remember(f, &failure);
    if (sum_of(f, items, count) < FAILED_MARGIN * memory_gb)
        rescale(f, items, count, FAILED_MARGIN * memory_gb);
}

/* Who is known, then failures, each behind the number of its members. */
void footprint_code(struct footprint *f, struct codec *c)
{
    size_t count = codec_count(c, f->known.count, KNOWN_MAX, 24);

    for (size_t i = 0; i < count && !codec_bad(c); i++) {
        struct footprint_outcome outcome = {0};

        if (c->out)
            outcome = f->known.items[i];
        codec_u64(c, &outcome.who);
        codec_at_least(c, &outcome.gb, 0);
        codec_bool(c, &outcome.failed);
        if (c->in)
            push_known(f, &outcome);
    }
    for (size_t j = 0; c->in || j < f->failures.count; j++) {
        struct footprint_failure failure = {0};
        int members;

        if (c->out)
            failure = f->failures.items[j];
        members = (int)failure.count;
        codec_int(c, &members, 0, FOOTPRINT_MEMBERS);
        if (members == 0)
            break;
        failure.count = (size_t)members;
        codec_int(c, &failure.type, 0, INT_MAX);
        for (int i = 0; i < members; i++)
            codec_u64(c, &failure.who[i]);
        if (c->in)
            vec_push(&f->failures, failure);
    }
    if (c->out)
        codec_more(c, false);
}
