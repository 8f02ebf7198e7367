/* handle_list.c - lists of jobs: the active from memory, all of them from the store
 *
 * A page may have a thousand jobs, and while it is written nobody else is served: it is
 * written in slices, between which others have their turn. */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the store a list looks through for one page, when filters pass few. */
#define SCAN_MAX 20000
/* Jobs written, or rows looked at, in one turn. */
#define SLICE 64
/* Records that are fetched from memory before they are looked at. */
#define AHEAD 12

enum { STATE_HELD = JOB_CANCELLED + 1, STATE_LEAVING, STATE_COUNT };
#define ACTIVE_STATES                                                                    \
    (1u << JOB_WAITING | 1u << JOB_RUNNING | 1u << STATE_HELD | 1u << STATE_LEAVING)
#define ALL_STATES ((1u << STATE_COUNT) - 1)

struct listing {
    struct service *s;
    const struct auth_identity *who;
    unsigned states;
    const char *user, *name, *type, *node;
    bool everything; /* no filter but that of states */
    int kind;        /* -1: any */
    double from_s, to_s;
    int limit, order;
    uint64_t after;
    struct handlers_answer answer;
    int count;
    int total;             /* of active ones; -1: of all, which nobody counts */
    vec_of(uint64_t) page; /* active ones to be written */
    size_t at;             /* in it */
    int scanned;
    uint64_t last; /* id of the last that was looked at */
    bool more;
};

static bool parse_states(const char *text, unsigned *states)
{
    static const char *const names[] = {"waiting",   "running", "done",   "failed",
                                        "cancelled", "held",    "leaving"};

    char word[16];

    *states = text ? 0 : ALL_STATES;
    while (str_next_word(&text, word, sizeof(word))) {
        int i = 0;

        while (i < STATE_COUNT && strcmp(names[i], word) != 0)
            i++;
        if (i < STATE_COUNT)
            *states |= 1u << i;
        else if (strcmp(word, "active") == 0)
            *states |= ACTIVE_STATES;
        else
            return false;
    }
    return *states != 0;
}

static unsigned state_bit(enum job_state state, bool held)
{
    return state == JOB_WAITING && held ? 1u << STATE_HELD : 1u << state;
}

static bool asked_for(const struct listing *l, const struct store_request *q)
{
    return (!l->user || strcmp(l->user, q->user) == 0) &&
           (!l->name || strcmp(l->name, q->job.name) == 0) &&
           (l->kind < 0 || (int)q->job.kind == l->kind) &&
           q->job.submitted_s >= l->from_s && q->job.submitted_s <= l->to_s &&
           service_may_see(l->who, q->user);
}

static bool sits_there(const struct listing *l, const struct record *r)
{
    const struct cluster *c = loop_cluster(l->s->loop);
    const struct job_status *status = loop_job(l->s->loop, r->id);

    if (!l->type && !l->node)
        return true;
    for (int i = 0; status && i < status->device_count; i++) {
        const struct device *d = &c->devices[status->devices[i]];

        if ((!l->type || gpu_named(&c->types[d->type], l->type)) &&
            (!l->node || strcmp(c->nodes[d->node].name, l->node) == 0))
            return true;
    }
    return false;
}

static enum job_state state_of(const struct record *r)
{
    if (r->phase == PHASE_ENDED)
        return r->final->state;
    return record_has_devices(r) ? JOB_RUNNING : JOB_WAITING;
}

static unsigned record_bit(const struct record *r)
{
    return r->leaving_holds ? 1u << STATE_LEAVING : state_bit(state_of(r), r->held);
}

static bool record_fits(const struct listing *l, const struct record *r)
{
    return r->phase != PHASE_PENDING && l->states & record_bit(r) &&
           (l->everything || (asked_for(l, &r->stored->request) && sits_there(l, r)));
}

static int by_queue(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;

    if (record_has_devices(x) != record_has_devices(y))
        return record_has_devices(x) ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int newest_first(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;

    return (x->id < y->id) - (x->id > y->id);
}

static int oldest_first(const void *a, const void *b)
{
    return newest_first(b, a);
}

/* The first so many of a long list in some order: more are kept now and then, and cut off
 * when they are too many, so that nothing near the whole list is ever sorted. */
struct first {
    int (*order)(const void *a, const void *b);
    size_t most, count;
    struct record **found; /* (2 * most) */
    bool cut;              /* what goes after found[most - 1] is not among them */
};

static void cut(struct first *f)
{
    qsort(f->found, f->count, sizeof(struct record *), f->order);
    if (f->count < f->most)
        return;
    f->count = f->most;
    f->cut = true;
}

static void consider(struct first *f, struct record *r)
{
    if (f->cut && f->order(&r, &f->found[f->most - 1]) > 0)
        return;
    f->found[f->count++] = r;
    if (f->count == 2 * f->most)
        cut(f);
}

static struct record *in_order(const struct listing *l, struct record *const *all,
                               size_t count, size_t i)
{
    return all[l->order == 0 ? count - 1 - i : i];
}

/* Active jobs are all in memory.  A page begins after the last job of the one before; if
 * that has gone meanwhile, nobody knows where it stood: from the beginning. */
static void choose_active(struct listing *l)
{
    static int (*const orders[])(const void *, const void *) = {newest_first,
                                                                oldest_first, by_queue};
    struct first f = {.order = orders[l->order], .most = (size_t)l->limit + 1};
    struct record *last = l->after ? records_get(l->s->records, l->after) : NULL;
    size_t count;
    struct record *const *all = records_all(l->s->records, &count);

    f.found = mem_array(struct record *, 2 * f.most);
    for (size_t i = 0; i < count; i++) {
        struct record *r = in_order(l, all, count, i);

        if (i + AHEAD < count) /* most of the time goes by waiting for memory */
            __builtin_prefetch(in_order(l, all, count, i + AHEAD));
        if (!record_fits(l, r))
            continue;
        l->total++;
        if (!last || f.order(&r, &last) > 0)
            consider(&f, r);
    }
    cut(&f);
    l->more = f.count > (size_t)l->limit;
    for (size_t i = 0; i < f.count && i < (size_t)l->limit; i++)
        vec_push(&l->page, f.found[i]->id);
    free(f.found);
}

/* True when the page is whole; who has gone since it was begun is left out. */
static bool write_active(struct listing *l)
{
    for (int n = 0; n < SLICE && l->at < l->page.count; n++) {
        const struct record *r = records_get(l->s->records, l->page.items[l->at]);

        l->last = l->page.items[l->at++];
        if (r)
            views_record(&l->answer.out, l->s, r, (struct views_how){.who = l->who});
    }
    return l->at == l->page.count;
}

static int list_row(void *ctx, const void *row)
{
    const struct store_job *job = row;
    struct listing *l = ctx;
    const struct record *r = records_get(l->s->records, job->request.job.id);

    if (l->count == l->limit) {
        l->more = true;
        return 1;
    }
    l->scanned++;
    l->last = job->request.job.id;
    if (r) {
        if (record_fits(l, r)) {
            views_record(&l->answer.out, l->s, r, (struct views_how){.who = l->who});
            l->count++;
        }
    } else if (l->states & state_bit(job->progress.state, job->progress.held) &&
               asked_for(l, &job->request) && !l->type && !l->node) {
        views_stored(&l->answer.out, l->s, job, NULL, (struct views_how){.who = l->who});
        l->count++;
    }
    return 0;
}

/* Newest first, from the store; what is active is shown as it is in memory.  1 when the
 * page is whole. */
static int write_stored(struct listing *l, struct err *err)
{
    int left = l->limit + 1 - l->count, before = l->scanned;
    struct store_filter filter = {.user = l->user,
                                  .name = l->name,
                                  .from_s = l->from_s,
                                  .to_s = isfinite(l->to_s) ? l->to_s : 0,
                                  .before_id = l->last ? l->last : l->after,
                                  .limit = left < SLICE ? left : SLICE};

    if (store_read(l->s->reader, STORE_JOBS, &filter, list_row, l, err) < 0)
        return -1;
    if (l->scanned >= SCAN_MAX)
        l->more = true;
    return l->more || l->scanned - before < filter.limit;
}

static bool parse_listing(struct request *r, struct listing *l)
{
    static const char *const kinds[] = {"training", "inference", NULL};
    static const char *const orders[] = {"newest", "oldest", "queue", NULL};

    l->kind = -1;
    l->to_s = INFINITY;
    l->user = uri_query_get(&r->query, "user");
    l->name = uri_query_get(&r->query, "name");
    l->type = uri_query_get(&r->query, "type");
    l->node = uri_query_get(&r->query, "node");
    if (!parse_states(uri_query_get(&r->query, "state"), &l->states)) {
        request_answer_error(r, 400, "invalid", "state",
                             "state takes waiting, held, running, leaving, done, "
                             "failed, cancelled and active, with commas between");
        return false;
    }
    if (!handlers_choice(r, "kind", kinds, &l->kind) ||
        !handlers_choice(r, "order", orders, &l->order) ||
        !handlers_number(r, "from_s", 0, API_MAX_TIME_S, &l->from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &l->to_s) ||
        !handlers_limit(r, &l->limit) || !handlers_after(r, &l->after))
        return false;
    if (l->order > 0 && l->states & ~ACTIVE_STATES) {
        request_answer_error(r, 400, "invalid", "order",
                             "this order needs state=active, or a part of it");
        return false;
    }
    /* A user may see only their own: the store need not look for others. */
    if (l->who->role == AUTH_USER && !l->user)
        l->user = l->who->name;
    l->everything = !l->user && !l->name && !l->type && !l->node && l->kind < 0 &&
                    l->from_s <= 0 && isinf(l->to_s) && l->who->role != AUTH_USER;
    return true;
}

static void end_listing(struct listing *l)
{
    str_fini(&l->answer.text);
    vec_free(&l->page);
    free(l);
}

static void answer(struct listing *l)
{
    handlers_page(&l->answer, l->more, l->last);
    if (l->total >= 0)
        json_out_key_int(&l->answer.out, "total", l->total);
    handlers_answer(&l->answer, 200);
    end_listing(l);
}

static void go_on(void *ctx);

static void write_slice(struct listing *l)
{
    struct err err = {0};
    int done;

    do /* at the end of the daemon there may be no further turn */
        done = l->total >= 0 ? write_active(l) : write_stored(l, &err);
    while (!done && l->s->draining);
    if (done < 0) {
        handlers_fail(&l->answer, &err);
        end_listing(l);
    } else if (done || request_gone(l->answer.request)) {
        answer(l);
    } else {
        reactor_post(l->s->reactor, go_on, l);
    }
}

static void go_on(void *ctx)
{
    struct listing *l = ctx;
    struct reactor *reactor = l->s->reactor;

    write_slice(l);
    reactor_did(reactor, "list_jobs");
}

void handle_list_jobs(void *ctx, struct request *r)
{
    struct listing *l = mem_new(struct listing);

    l->s = ctx;
    l->who = &r->identity;
    if (!parse_listing(r, l)) {
        end_listing(l);
        return;
    }
    handlers_begin(&l->answer, r, "jobs");
    l->total = l->states & ~ACTIVE_STATES ? -1 : 0;
    if (l->total == 0)
        choose_active(l);
    write_slice(l);
}
