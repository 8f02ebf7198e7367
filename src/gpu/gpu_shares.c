/* gpu_shares.c - accounts of jobs on a shared device, see gpu_shares.h
 *
 * The local engine's energy_booking.c adds each interval of a GPU's meter with the jobs
 * that were there, and asks for all shares when it tells the daemon.
 *
 * Intervals are kept as groups, one a set of jobs; each question fits the groups anew
 * (shares_fit.c) and divides each of them: idle's watts first, the rest by the jobs'
 * watts.  Accounts are whole microjoules, so that nothing is lost by rounding.  A job
 * that is settled takes its part out of its groups, and what is left of them counts for
 * the set without it. */
#include "gpu/gpu_shares.h"

#include "base/mem.h"
#include "base/vec.h"
#include "gpu/shares_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INTERVAL_JOULES 1e9
#define MAX_GROUPS          512

struct energy_account {
    uint64_t job;            /* 0: a free place */
    size_t order;            /* of first sight */
    double active_s, told_s; /* activity by time, and the time it was told for */
    double seen_s;           /* end of the last interval it was in */
    int64_t microjoules;     /* settled before it came back */
    double error_joules;
};

/* A share in its place; one that is settled takes no part in the fit any more. */
struct listed {
    struct gpu_share share;
    size_t order;
};

struct gpu_shares {
    bool has_sheet;
    struct gpu_sheet sheet;
    struct energy_account accounts[SHARES_MAX_JOBS];
    size_t next_order;
    vec_of(struct shares_group) groups;
    vec_of(struct listed) settled;
};

struct gpu_shares *gpu_shares_create(const struct gpu_sheet *sheet)
{
    struct gpu_shares *shares = mem_new(struct gpu_shares);

    if (sheet) {
        shares->has_sheet = true;
        shares->sheet = *sheet;
    }
    return shares;
}

void gpu_shares_destroy(struct gpu_shares *shares)
{
    if (!shares)
        return;
    vec_free(&shares->groups);
    vec_free(&shares->settled);
    free(shares);
}

static void run_fit(const struct gpu_shares *shares, struct shares_fit *fit)
{
    double activity[SHARES_MAX_JOBS];
    int used = 0;

    for (int i = 0; i < SHARES_MAX_JOBS; i++) {
        const struct energy_account *a = &shares->accounts[i];

        activity[i] = a->told_s > 0 ? a->active_s / a->told_s : NAN;
        if (a->job)
            used = i + 1;
    }
    shares_fit_run(fit, shares->has_sheet ? &shares->sheet : NULL, shares->groups.items,
                   shares->groups.count, activity, used);
}

static struct shares_group *group_of(struct gpu_shares *shares, const int *jobs,
                                     int count)
{
    struct shares_group new = {.count = count};

    vec_each (struct shares_group, g, &shares->groups) {
        if (g->count == count && !memcmp(g->jobs, jobs, sizeof(*jobs) * (size_t)count))
            return g;
    }
    memcpy(new.jobs, jobs, sizeof(*jobs) * (size_t)count);
    vec_push(&shares->groups, new);
    return &shares->groups.items[shares->groups.count - 1];
}

/* Put what is left of a group to the group of fewer jobs.  What the fit leaves is no
 * measurement: it is evidence only where there is none better, else long settled sets
 * would outweigh the little that was measured. */
static void merge(struct shares_group *to, const struct shares_group *from, double watts,
                  double var)
{
    double extra_var = from->extra_var + var;

    to->seconds += from->seconds;
    to->error_joules += from->error_joules;
    if (!(from->seen_s > 0) || (to->seen_s > 0 && to->extra_var <= extra_var))
        return;
    to->seen_s = from->seen_s;
    to->seen_joules = from->seen_joules - watts * from->seen_s;
    to->intervals = from->intervals;
    to->mean = from->mean - watts;
    to->spread = from->spread;
    to->extra_var = extra_var;
}

/* Take a job's part out of every group it is in. */
static struct listed settle(struct gpu_shares *shares, int index)
{
    const struct energy_account *account = &shares->accounts[index];
    struct gpu_share out = {.job = account->job, .microjoules = account->microjoules};
    struct listed settled = {.order = account->order};
    struct shares_error error = {0};
    struct shares_fit fit;
    size_t i = 0;

    run_fit(shares, &fit);
    while (i < shares->groups.count) {
        struct shares_group from = shares->groups.items[i];
        struct shares_group *to;
        struct shares_error *errors[GPU_SHARES_MAX_TOGETHER + 1] = {0};
        int64_t parts[GPU_SHARES_MAX_TOGETHER + 1];
        int rest[GPU_SHARES_MAX_TOGETHER], count = 0, at = -1;

        for (int j = 0; j < from.count; j++)
            if (from.jobs[j] == index)
                at = j;
            else
                rest[count++] = from.jobs[j];
        if (at < 0) {
            i++;
            continue;
        }
        errors[at + 1] = &error;
        shares_divide(&from, &fit, parts, errors);
        out.microjoules += parts[at + 1];
        shares->groups.items[i] = shares->groups.items[--shares->groups.count];
        to = group_of(shares, rest, count);
        merge(to, &from, (double)parts[at + 1] / 1e6 / from.seconds,
              fit.var[(index + 1) * fit.terms + index + 1]);
        to->microjoules += from.microjoules - parts[at + 1];
    }
    out.error_joules = hypot(account->error_joules, shares_error_joules(&error, &fit));
    settled.share = out;
    shares->accounts[index] = (struct energy_account){0};
    return settled;
}

static int find_account(const struct gpu_shares *shares, uint64_t job)
{
    for (int i = 0; i < SHARES_MAX_JOBS; i++)
        if (shares->accounts[i].job == job)
            return i;
    return -1;
}

static size_t find_settled(const struct gpu_shares *shares, uint64_t job)
{
    size_t i = 0;

    while (i < shares->settled.count && shares->settled.items[i].share.job != job)
        i++;
    return i;
}

/* A place for a job; when there is none, the job that was away longest is settled. */
static int account_for(struct gpu_shares *shares, uint64_t job)
{
    int index = find_account(shares, job), oldest = 0;
    size_t at;

    if (index >= 0)
        return index;
    index = find_account(shares, 0);
    if (index < 0) {
        for (int i = 1; i < SHARES_MAX_JOBS; i++)
            if (shares->accounts[i].seen_s < shares->accounts[oldest].seen_s)
                oldest = i;
        vec_push(&shares->settled, settle(shares, oldest));
        index = oldest;
    }
    at = find_settled(shares, job);
    shares->accounts[index] =
        (struct energy_account){.job = job, .order = shares->next_order++};
    if (at < shares->settled.count) {
        const struct listed *s = &shares->settled.items[at];

        shares->accounts[index].microjoules = s->share.microjoules;
        shares->accounts[index].error_joules = s->share.error_joules;
        shares->accounts[index].order = s->order;
        shares->settled.items[at] = shares->settled.items[--shares->settled.count];
    }
    return index;
}

static int check(const struct gpu_interval *interval, const struct gpu_presence *jobs,
                 size_t count, struct err *err)
{
    if (!(interval->to_s > interval->from_s) || !isfinite(interval->to_s) ||
        !(interval->joules >= 0 && interval->joules <= MAX_INTERVAL_JOULES) ||
        !(interval->error_joules >= 0))
        return err_set(err, ERR_INVALID, "an interval of %g s with %g J cannot be",
                       interval->to_s - interval->from_s, interval->joules);
    if (count > GPU_SHARES_MAX_TOGETHER)
        return err_set(err, ERR_LIMIT, "%zu jobs on one device, at most %d", count,
                       GPU_SHARES_MAX_TOGETHER);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].job == 0)
            return err_set(err, ERR_INVALID, "job 0 is idle and cannot be on a device");
        for (size_t j = 0; j < i; j++)
            if (jobs[j].job == jobs[i].job)
                return err_set(err, ERR_INVALID, "a job is on the device twice");
    }
    return 0;
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Groups are few unless many jobs come and go; then the smallest set's oldest is not
 * worth its place, and its jobs are settled instead. */
static void make_room(struct gpu_shares *shares, double now_s)
{
    while (shares->groups.count > MAX_GROUPS) {
        int oldest = -1;

        for (int i = 0; i < SHARES_MAX_JOBS; i++)
            if (shares->accounts[i].job && shares->accounts[i].seen_s < now_s &&
                (oldest < 0 ||
                 shares->accounts[i].seen_s < shares->accounts[oldest].seen_s))
                oldest = i;
        if (oldest < 0)
            return;
        vec_push(&shares->settled, settle(shares, oldest));
    }
}

static void add_to_account(struct shares_group *g, const struct gpu_interval *interval,
                           int64_t microjoules)
{
    g->microjoules += microjoules;
    g->seconds += interval->to_s - interval->from_s;
    g->error_joules += interval->error_joules;
}

static void add_evidence(struct shares_group *g, const struct gpu_interval *interval)
{
    double seconds = interval->to_s - interval->from_s;
    double watts = interval->joules / seconds;
    double difference;

    if (g->extra_var > 0) /* from now on it is measured */
        g->seen_joules = g->seen_s = g->intervals = g->mean = g->spread = g->extra_var =
            0;
    difference = watts - g->mean;
    g->seen_joules += interval->joules;
    g->seen_s += seconds;
    g->intervals++;
    g->mean += difference / g->intervals;
    g->spread += difference * (watts - g->mean);
}

int gpu_shares_add(struct gpu_shares *shares, const struct gpu_interval *interval,
                   const struct gpu_presence *jobs, size_t count, bool blurred,
                   struct err *err)
{
    struct shares_group *group;
    int indices[GPU_SHARES_MAX_TOGETHER];
    int64_t microjoules;
    double seconds;

    if (check(interval, jobs, count, err) < 0)
        return -1;
    seconds = interval->to_s - interval->from_s;
    microjoules = llround(interval->joules * 1e6);
    for (size_t i = 0; i < count; i++) {
        struct energy_account *account;

        indices[i] = account_for(shares, jobs[i].job);
        account = &shares->accounts[indices[i]];
        account->seen_s = interval->to_s;
        if (jobs[i].activity >= 0 && jobs[i].activity <= 1) {
            account->active_s += jobs[i].activity * seconds;
            account->told_s += seconds;
        }
    }
    qsort(indices, count, sizeof(*indices), compare_ints);
    group = group_of(shares, indices, (int)count);
    add_to_account(group, interval, microjoules);
    if (!blurred)
        add_evidence(group, interval);
    make_room(shares, interval->to_s);
    return 0;
}

/* Sums over the groups, by account; [SHARES_MAX_JOBS] is idle. */
struct share_sums {
    int64_t microjoules[SHARES_MAX_JOBS + 1];
    struct shares_error errors[SHARES_MAX_JOBS + 1];
};

static void sum_groups(const struct gpu_shares *shares, const struct shares_fit *fit,
                       struct share_sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    vec_each (const struct shares_group, g, &shares->groups) {
        struct shares_error *errors[GPU_SHARES_MAX_TOGETHER + 1];
        int64_t parts[GPU_SHARES_MAX_TOGETHER + 1];

        for (int i = 0; i <= g->count; i++)
            errors[i] = &sums->errors[i == 0 ? SHARES_MAX_JOBS : g->jobs[i - 1]];
        shares_divide(g, fit, parts, errors);
        for (int i = 0; i <= g->count; i++)
            sums->microjoules[i == 0 ? SHARES_MAX_JOBS : g->jobs[i - 1]] += parts[i];
    }
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

size_t gpu_shares_all(const struct gpu_shares *shares, struct gpu_share *out,
                      size_t capacity)
{
    struct listed *list =
        mem_array(struct listed, SHARES_MAX_JOBS + 1 + shares->settled.count);
    struct shares_fit fit;
    struct share_sums sums;
    size_t used = 1;

    run_fit(shares, &fit);
    sum_groups(shares, &fit, &sums);
    list[0].share = (struct gpu_share){
        .microjoules = sums.microjoules[SHARES_MAX_JOBS],
        .error_joules = shares_error_joules(&sums.errors[SHARES_MAX_JOBS], &fit)};
    for (int i = 0; i < SHARES_MAX_JOBS; i++) {
        const struct energy_account *a = &shares->accounts[i];

        if (!a->job)
            continue;
        list[used].order = a->order + 1;
        list[used++].share = (struct gpu_share){
            .job = a->job,
            .microjoules = sums.microjoules[i] + a->microjoules,
            .error_joules =
                hypot(shares_error_joules(&sums.errors[i], &fit), a->error_joules)};
    }
    vec_each (const struct listed, s, &shares->settled) {
        list[used] = *s;
        list[used++].order++;
    }
    qsort(list, used, sizeof(*list), compare_listed);
    for (size_t i = 0; i < used && i < capacity; i++) {
        out[i] = list[i].share;
        out[i].joules = (double)out[i].microjoules / 1e6;
    }
    free(list);
    return used;
}

void gpu_shares_forget(struct gpu_shares *shares, uint64_t job)
{
    int index = job ? find_account(shares, job) : -1;
    size_t at = find_settled(shares, job);

    if (index >= 0)
        settle(shares, index);
    if (at < shares->settled.count)
        shares->settled.items[at] = shares->settled.items[--shares->settled.count];
}
