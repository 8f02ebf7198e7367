/* energy_booking.c - a GPU's new joules to those who lack some, see energy_booking.h
 *
 * device_power.c tells who comes and goes, adds each interval of the meter and asks at
 * each tick whose the new joules are; gpu/gpu_shares.c knows everybody's share. */
#include "engine/local/energy_booking.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "gpu/gpu_shares.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A job that has left may get what it lacks for so long; then its account is closed. */
#define CLOSE_AFTER_S 60.0
#define BLUR_S        0.3
#define MOST_GUESTS   40 /* of which so many are kept: fewer than a fit takes */

struct guest {
    uint64_t job;
    double from_s, until_s; /* on the device; until infinity: still there */
    bool seen;              /* it counted in an interval since it came */
    double told_joules, told_error;
};

struct energy_booking {
    struct gpu_shares *shares;
    vec_of(struct guest) guests;
    double told_idle;
};

struct energy_booking *energy_booking_create(const struct gpu_sheet *sheet)
{
    struct energy_booking *d = mem_new(struct energy_booking);

    d->shares = gpu_shares_create(sheet);
    return d;
}

void energy_booking_destroy(struct energy_booking *d)
{
    if (!d)
        return;
    gpu_shares_destroy(d->shares);
    vec_free(&d->guests);
    free(d);
}

static struct guest *find(struct energy_booking *d, uint64_t job)
{
    vec_each (struct guest, m, &d->guests)
        if (m->job == job)
            return m;
    return NULL;
}

void energy_booking_join(struct energy_booking *d, uint64_t job, double now_s)
{
    struct guest *m = find(d, job);

    if (!m) {
        vec_push(&d->guests, (struct guest){.job = job});
        m = &d->guests.items[d->guests.count - 1];
    }
    m->from_s = now_s;
    m->until_s = INFINITY;
    m->seen = false;
}

void energy_booking_leave(struct energy_booking *d, uint64_t job, double now_s)
{
    struct guest *m = find(d, job);

    if (m && isinf(m->until_s))
        m->until_s = now_s;
}

/* Did it come or go in the interval, or so shortly before that it shows in there? */
static bool changed(const struct guest *g, const struct gpu_interval *interval)
{
    double since_s = interval->from_s - BLUR_S;

    return (g->from_s > since_s && g->from_s < interval->to_s) ||
           (g->until_s > since_s && g->until_s < interval->to_s);
}

/* A job that came or went within an interval counts when it was there for most of it; one
 * that never was counts where it left. */
static bool was_there(const struct guest *m, const struct gpu_interval *interval)
{
    double there_s = fmin(m->until_s, interval->to_s) - fmax(m->from_s, interval->from_s);

    return there_s > (interval->to_s - interval->from_s) / 2 ||
           (there_s > 0 && !m->seen && m->until_s <= interval->to_s);
}

void energy_booking_add(struct energy_booking *d, const struct gpu_interval *interval,
                        energy_booking_activity *activity, void *ctx)
{
    struct gpu_presence present[GPU_SHARES_MAX_TOGETHER];
    struct err err = {0};
    size_t count = 0;
    bool blurred = false;

    vec_each (struct guest, g, &d->guests) {
        blurred = blurred || changed(g, interval);
        if (count == GPU_SHARES_MAX_TOGETHER || !was_there(g, interval))
            continue;
        g->seen = true;
        present[count++] = (struct gpu_presence){
            .job = g->job, .activity = activity ? activity(ctx, g->job) : NAN};
    }
    if (gpu_shares_add(d->shares, interval, present, count, blurred, &err) < 0)
        log_warn("engine_interval_refused", LOG_ERR(&err));
}

static const struct guest *longest_gone(const struct energy_booking *d)
{
    const struct guest *oldest = NULL;

    vec_each (const struct guest, m, &d->guests)
        if (isfinite(m->until_s) && (!oldest || m->until_s < oldest->until_s))
            oldest = m;
    return oldest;
}

/* Forget jobs that left long ago; their joules stay told. */
static void close_accounts(struct energy_booking *d, double now_s)
{
    const struct guest *oldest;

    while ((oldest = longest_gone(d)) &&
           (now_s - oldest->until_s > CLOSE_AFTER_S || d->guests.count > MOST_GUESTS)) {
        size_t at = (size_t)(oldest - d->guests.items);

        gpu_shares_forget(d->shares, oldest->job);
        d->guests.items[at] = d->guests.items[--d->guests.count];
    }
}

/* Joules that a job, or idle, lacks of its share; never negative. */
static double lack(const struct energy_booking *d, const struct guest *g,
                   const struct gpu_share *share)
{
    return fmax(0, share->joules - (g ? g->told_joules : d->told_idle));
}

static void tell_guest(struct guest *g, const struct gpu_share *share, double joules,
                       struct engine_share *out)
{
    double error = fmax(0, share->error_joules - g->told_error);

    g->told_joules += joules;
    g->told_error += error;
    *out = (struct engine_share){.job = g->job, .joules = joules, .error_joules = error};
}

int energy_booking_tell(struct energy_booking *d, double now_s, double joules,
                        struct engine_share **shares)
{
    size_t most = d->guests.count + 1; /* idle, and jobs that were guests */
    struct gpu_share *all = mem_array(struct gpu_share, most);
    size_t count = gpu_shares_all(d->shares, all, most);
    double lacking = 0, rest = joules;
    int told = 0;

    assert(count <= most);
    *shares = mem_array(struct engine_share, most);
    for (size_t i = 0; i < count; i++)
        lacking += lack(d, find(d, all[i].job), &all[i]);
    for (size_t i = 0; i < count && lacking > 0; i++) {
        struct guest *g = find(d, all[i].job);
        double part = g ? joules * lack(d, g, &all[i]) / lacking : 0;

        if (!(part > 0))
            continue;
        tell_guest(g, &all[i], part, &(*shares)[told++]);
        rest -= part;
    }
    d->told_idle += rest;
    close_accounts(d, now_s);
    free(all);
    return told;
}
