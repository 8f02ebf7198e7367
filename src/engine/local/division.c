/* division.c - see division.h */
#include "engine/local/division.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "gpu/shares.h"

#include <math.h>
#include <stdlib.h>

/* So long a job that has left may be corrected; then its account is closed. */
#define CLOSE_AFTER_S 900.0
#define MOST_GUESTS   40 /* of which so many are kept: fewer than a fit takes */

struct guest {
    uint64_t job;
    double from_s, until_s; /* on the device; until infinity: still there */
    int64_t told_microjoules;
    double told_error;
};

struct division {
    struct gpu_shares *shares;
    vec_of(struct guest) guests;
};

struct division *division_create(const struct gpu_sheet *sheet)
{
    struct division *d = mem_new(struct division);

    d->shares = gpu_shares_create(sheet);
    return d;
}

void division_destroy(struct division *d)
{
    if (!d)
        return;
    gpu_shares_destroy(d->shares);
    vec_free(&d->guests);
    free(d);
}

static struct guest *find(struct division *d, uint64_t job)
{
    vec_each (struct guest, m, &d->guests)
        if (m->job == job)
            return m;
    return NULL;
}

void division_join(struct division *d, uint64_t job, double now_s)
{
    struct guest *m = find(d, job);

    if (!m) {
        vec_push(&d->guests, (struct guest){.job = job});
        m = &d->guests.items[d->guests.count - 1];
    }
    m->from_s = now_s;
    m->until_s = INFINITY;
}

void division_leave(struct division *d, uint64_t job, double now_s)
{
    struct guest *m = find(d, job);

    if (m && isinf(m->until_s))
        m->until_s = now_s;
}

/* Who came or went within an interval counts when it was there for most of it. */
static bool was_there(const struct guest *m, const struct gpu_interval *interval)
{
    double there_s = fmin(m->until_s, interval->to_s) - fmax(m->from_s, interval->from_s);

    return there_s > (interval->to_s - interval->from_s) / 2;
}

void division_add(struct division *d, const struct gpu_interval *interval,
                  division_activity *activity, void *ctx)
{
    struct gpu_presence present[GPU_SHARES_MAX_TOGETHER];
    struct err err = {0};
    size_t count = 0;

    vec_each (const struct guest, m, &d->guests)
        if (count < GPU_SHARES_MAX_TOGETHER && was_there(m, interval))
            present[count++] = (struct gpu_presence){
                .job = m->job, .activity = activity ? activity(ctx, m->job) : NAN};
    if (gpu_shares_add(d->shares, interval, present, count, &err) < 0)
        log_warn("engine_interval_refused", LOG_ERR(&err));
}

static const struct guest *longest_gone(const struct division *d)
{
    const struct guest *oldest = NULL;

    vec_each (const struct guest, m, &d->guests)
        if (isfinite(m->until_s) && (!oldest || m->until_s < oldest->until_s))
            oldest = m;
    return oldest;
}

/* What was told of them stays told. */
static void close_accounts(struct division *d, double now_s)
{
    const struct guest *oldest;

    while ((oldest = longest_gone(d)) &&
           (now_s - oldest->until_s > CLOSE_AFTER_S || d->guests.count > MOST_GUESTS)) {
        size_t at = (size_t)(oldest - d->guests.items);

        gpu_shares_forget(d->shares, oldest->job);
        d->guests.items[at] = d->guests.items[--d->guests.count];
    }
}

int division_tell(struct division *d, double now_s, struct engine_share **shares)
{
    size_t capacity = gpu_shares_all(d->shares, NULL, 0);
    struct gpu_share *all = mem_array(struct gpu_share, capacity);
    int count = 0;

    *shares = mem_array(struct engine_share, capacity);
    capacity = gpu_shares_all(d->shares, all, capacity);
    for (size_t i = 0; i < capacity; i++) {
        struct guest *m = find(d, all[i].job);

        if (!m || all[i].job == 0 ||
            (all[i].microjoules == m->told_microjoules &&
             all[i].error_joules == m->told_error))
            continue;
        (*shares)[count++] = (struct engine_share){
            .job = m->job,
            .joules = (double)(all[i].microjoules - m->told_microjoules) / 1e6,
            .error_joules = all[i].error_joules - m->told_error};
        m->told_microjoules = all[i].microjoules;
        m->told_error = all[i].error_joules;
    }
    close_accounts(d, now_s);
    free(all);
    return count;
}
