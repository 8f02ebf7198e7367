/* report_desk.c - handle_reports.c asks here whether a probe's batch is new */
#include "service/report_desk.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct report_desk {
    vec_of(struct report_run) runs;
};

struct report_desk *report_desk_create(void)
{
    return mem_new(struct report_desk);
}

void report_desk_destroy(struct report_desk *desk)
{
    if (!desk)
        return;
    vec_free(&desk->runs);
    free(desk);
}

static void drop(struct report_desk *desk, size_t at)
{
    desk->runs.items[at] = desk->runs.items[--desk->runs.count];
}

static void make_room(struct report_desk *desk)
{
    size_t oldest = 0;

    for (size_t i = 1; i < desk->runs.count; i++)
        if (desk->runs.items[i].heard_s < desk->runs.items[oldest].heard_s)
            oldest = i;
    drop(desk, oldest);
}

static bool same_place(const struct report_run *a, const struct report_run *b)
{
    return a->rank == b->rank && !strcmp(a->node, b->node);
}

/* Is it of an attempt before? */
static bool is_earlier(const struct report_run *run, const struct report_run *who)
{
    return run->attempt > 0 && run->attempt < who->attempt;
}

static bool is_id(const char *text)
{
    return strlen(text) == API_RUN_BYTES &&
           strspn(text, "0123456789abcdef") == API_RUN_BYTES;
}

struct report_run *report_desk_run(struct report_desk *desk, const struct report_run *who,
                                   double now_s, struct err *err)
{
    struct report_run fresh = *who;
    size_t of_job = 0;

    if (!is_id(who->id)) {
        err_set(err, ERR_INVALID, "run is not of %d hex digits", API_RUN_BYTES);
        return NULL;
    }
    for (size_t i = 0; i < desk->runs.count; i++) {
        struct report_run *run = &desk->runs.items[i];

        if (run->job != who->job)
            continue;
        of_job++;
        if (!strcmp(run->id, who->id) && same_place(run, who)) {
            run->heard_s = now_s;
            return run;
        }
        /* One id belongs to one place, and one place to one run at a time. */
        if (!strcmp(run->id, who->id) ||
            (same_place(run, who) && !run->ended && !is_earlier(run, who) &&
             now_s - run->heard_s < REPORT_SILENT_S)) {
            err_set(err, ERR_EXISTS, "another run of job %llu reports from %s",
                    (unsigned long long)who->job, run->node);
            return NULL;
        }
    }
    if (of_job >= REPORT_MAX_RUNS) {
        err_set(err, ERR_LIMIT, "job %llu has %d runs that report already",
                (unsigned long long)who->job, REPORT_MAX_RUNS);
        return NULL;
    }
    if (desk->runs.count >= REPORT_MAX_ALL_RUNS)
        make_room(desk);
    fresh.next = 1;
    fresh.lost = 0;
    fresh.heard_s = now_s;
    fresh.told_s = -INFINITY;
    fresh.ended = false;
    fresh.attempt = 0;
    vec_push(&desk->runs, fresh);
    return &desk->runs.items[desk->runs.count - 1];
}

enum report_claim report_desk_claim(struct report_run *run, const struct report_job *job,
                                    double began_s)
{
    bool fits =
        job->here && !(began_s < job->began_s - REPORT_CLOCKS_S); /* NaN: nobody knows */

    if (!job->fenced)
        return REPORT_FREE;
    if (run->attempt == 0 && (!fits || !job->runs))
        return (fits && job->starts) || job->leaving > 0 ? REPORT_HOLDS : REPORT_LOST;
    if (run->attempt == 0)
        run->attempt = job->attempt;
    if (run->attempt == job->leaving)
        return REPORT_HOLDS;
    return run->attempt == job->attempt && (job->runs || job->starts) ? REPORT_HOLDS
                                                                      : REPORT_LOST;
}

void report_desk_forget(struct report_desk *desk, uint64_t job)
{
    for (size_t i = desk->runs.count; i-- > 0;)
        if (desk->runs.items[i].job == job)
            drop(desk, i);
}
