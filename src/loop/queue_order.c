/* queue_order.c - see queue_order.h; round.c chooses with it whom the planner gets to
 * see, planner_queue.c whom it looks at */
#include "loop/queue_order.h"

#include "base/mem.h"
#include "base/vec.h"
#include "loop/fair_share.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>

/* A wait of so long counts as a step of priority. */
#define AGEING_S 21600.0
/* Whoever has devices, or gets some before others in this very order, counts as if it had
 * had them for so long: else all jobs of one user would go before all of another. */
#define AHEAD_S 3600.0
/* A deadline goes before the order of admission when a job could wait no longer than this
 * and be done in time. */
#define NEAR_S 14400.0

struct queued {
    size_t at; /* in the input: the order of admission */
    double level;
    int party;      /* its user; 0 for all where there are no shares */
    double slack_s; /* of a deadline that is near; infinite: none */
    int devices;
};

struct party {
    int group;
    double weight, group_weight;
    double used_s;
    size_t next, end; /* of its jobs on the level that is served */
};

struct queue {
    vec_of(struct queued) jobs;
    struct party *parties; /* NULL: no shares */
    int party_count;
    double *group_used_s;
};

static int by_level(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;

    if (x->level < y->level || x->level > y->level)
        return x->level > y->level ? -1 : 1;
    if (x->party != y->party)
        return x->party < y->party ? -1 : 1;
    if (x->slack_s < y->slack_s || x->slack_s > y->slack_s)
        return x->slack_s < y->slack_s ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* ---- users ---- */

static bool several_wait(const struct optimize_input *in)
{
    const struct job_status *first = NULL;

    for (size_t i = 0; i < in->job_count; i++) {
        if (!optimize_input_waits(in, i))
            continue;
        if (!first)
            first = in->jobs[i];
        else if (first->job.owner != in->jobs[i]->job.owner ||
                 first->job.account != in->jobs[i]->job.account)
            return true;
    }
    return false;
}

/* A user nobody has told of, as one who asks for a quote, is the last. */
static int party_of(const struct queue *q, const struct fair_shares *shares,
                    const struct job *job)
{
    int at = fair_shares_place(shares, job);

    return at < 0 ? q->party_count - 1 : at;
}

static void charge(struct queue *q, int party, double gpu_s)
{
    struct party *p = &q->parties[party];

    p->used_s += gpu_s;
    q->group_used_s[p->group] += gpu_s;
}

static void load_parties(struct queue *q, const struct optimize_input *in)
{
    size_t count;
    struct fair_share *users =
        fair_shares_list(in->shares, in->settings->fair_share_s, in->now_s, &count);
    int groups = 0;

    q->party_count = (int)count + 1;
    q->parties = mem_array(struct party, count + 1);
    for (size_t i = 0; i < count; i++) {
        q->parties[i] = (struct party){.group = users[i].group,
                                       .weight = users[i].weight,
                                       .group_weight = users[i].group_weight};
        groups = users[i].group >= groups ? users[i].group + 1 : groups;
    }
    q->parties[count] = (struct party){.group = groups, .weight = 1, .group_weight = 1};
    q->group_used_s = mem_array(double, (size_t)groups + 1);
    for (size_t i = 0; i < count; i++)
        charge(q, (int)i, users[i].used_s);
    for (size_t i = 0; i < in->job_count; i++)
        if (!optimize_input_waits(in, i))
            charge(q, party_of(q, in->shares, &in->jobs[i]->job),
                   AHEAD_S * in->jobs[i]->device_count);
    free(users);
}

/* Who has had less for its weight; who came first among equals. */
static bool goes_before(const struct queue *q, const struct party *a,
                        const struct party *b)
{
    double x = q->group_used_s[a->group] / a->group_weight,
           y = q->group_used_s[b->group] / b->group_weight;

    if (a->group == b->group) {
        x = a->used_s / a->weight;
        y = b->used_s / b->weight;
    }
    if (x < y || x > y)
        return x < y;
    return q->jobs.items[a->next].at < q->jobs.items[b->next].at;
}

/* ---- the order ---- */

static double level_of(const struct optimize_input *in, const struct queue *q,
                       const struct job *job)
{
    double since_s = job->submitted_s;

    if (q->parties)
        since_s = fmax(since_s, fair_shares_served_s(in->shares, job));
    return job->priority + floor(fmax(0, in->now_s - since_s) / AGEING_S);
}

/* What is lost already goes before nobody. */
static double near_s(const struct job_status *status, double now_s)
{
    double slack_s = requirement_slack_s(status, now_s);

    return slack_s < NEAR_S && status->job.need.deadline_s > now_s ? slack_s : INFINITY;
}

static void load_jobs(struct queue *q, const struct optimize_input *in)
{
    for (size_t i = 0; i < in->job_count; i++) {
        const struct job *job = &in->jobs[i]->job;

        if (!optimize_input_waits(in, i))
            continue;
        vec_push(&q->jobs, (struct queued){.at = i,
                                           .level = level_of(in, q, job),
                                           .slack_s = near_s(in->jobs[i], in->now_s),
                                           .devices = job->devices});
        if (q->parties)
            q->jobs.items[q->jobs.count - 1].party = party_of(q, in->shares, job);
    }
    if (q->jobs.count > 1)
        qsort(q->jobs.items, q->jobs.count, sizeof(*q->jobs.items), by_level);
}

/* Jobs of one level from `first` on, which lie together user by user; returns where the
 * next level begins. */
static size_t serve_level(struct queue *q, size_t first, size_t most, size_t *order,
                          size_t *served)
{
    vec_of(int) present = {0};
    size_t i = first;

    for (; i < q->jobs.count && !(q->jobs.items[i].level < q->jobs.items[first].level);
         i++) {
        int party = q->jobs.items[i].party;

        if (i == first || party != q->jobs.items[i - 1].party) {
            q->parties[party].next = i;
            vec_push(&present, party);
        }
        q->parties[party].end = i + 1;
    }
    while (present.count > 0) {
        size_t best = 0;
        struct party *p;

        for (size_t k = 1; *served < most && k < present.count; k++)
            if (goes_before(q, &q->parties[present.items[k]],
                            &q->parties[present.items[best]]))
                best = k;
        p = &q->parties[present.items[best]];
        order[(*served)++] = q->jobs.items[p->next].at;
        charge(q, present.items[best], AHEAD_S * q->jobs.items[p->next].devices);
        if (++p->next == p->end)
            present.items[best] = present.items[--present.count];
    }
    vec_free(&present);
    return i;
}

size_t queue_order(const struct optimize_input *in, size_t most, size_t *order)
{
    struct queue q = {0};
    size_t count = 0;

    if (in->shares && in->settings->fair_share_s > 0 && several_wait(in))
        load_parties(&q, in);
    load_jobs(&q, in);
    for (size_t i = 0; q.parties && i < q.jobs.count;)
        i = serve_level(&q, i, most, order, &count);
    for (; count < q.jobs.count; count++)
        order[count] = q.jobs.items[count].at;
    vec_free(&q.jobs);
    free(q.parties);
    free(q.group_used_s);
    return count;
}
