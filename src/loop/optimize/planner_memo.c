/* planner_memo.c - what a device was found to cost with one job or two is kept while
 * places are judged by the same view; planner_cost.c asks before it works anything out
 *
 * Jobs of one shape cost the same wherever none of them runs: same kind, same need.  A
 * queue of hundreds that were handed in alike is worked out once.  What runs somewhere as
 * it is asked about was measured there, and is kept with the job.  There are two such
 * memories: a job that was seated boldly is looked at again by the best guess, and the
 * next one boldly. */
#include "loop/optimize/planner_private.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* With more jobs hardly anything is asked for twice, except where many are alike. */
#define SHAPES_OF_MANY 96

/* All that planner_cost.c reads of a job where it does not run. */
struct shape {
    const struct table_kind *kind;
    double need, capped, unit;
    int devices;
    int alone; /* a job whose place says something of others too; -1: it is like others */
    bool service, unpromised, sure;
};

static struct shape shape_of(const struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];

    return (struct shape){.kind = j->kind,
                          .need = j->need,
                          .capped = j->capped,
                          .unit = j->unit,
                          .devices = j->status->job.devices,
                          .alone = j->suffers ? job : -1,
                          .service = j->service,
                          .unpromised = j->unpromised,
                          .sure = j->service && j->paced};
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static bool alike(const struct shape *x, const struct shape *y)
{
    return x->kind == y->kind && x->alone == y->alone && x->devices == y->devices &&
           x->service == y->service && x->unpromised == y->unpromised &&
           x->sure == y->sure && bits_of(x->need) == bits_of(y->need) &&
           bits_of(x->capped) == bits_of(y->capped) &&
           bits_of(x->unit) == bits_of(y->unit);
}

static uint64_t hash_of(const struct shape *shape)
{
    uint64_t hash = rng_mix(shape->kind->key, bits_of(shape->need));

    return rng_mix(hash, bits_of(shape->capped) + (uint64_t)(int64_t)shape->alone);
}

static struct planner_memo *memo_now(struct planner_state *s)
{
    return &s->memos[s->aside];
}

static bool many(const struct planner_state *s)
{
    return s->jobs.count > PLANNER_MEMO_JOBS;
}

static size_t width_of(const struct planner_state *s)
{
    return many(s) ? SHAPES_OF_MANY : PLANNER_MEMO;
}

/* A row has the job alone, then beside each of the shapes from its own on. */
static size_t row_of(const struct planner_state *s)
{
    return width_of(s) + 1;
}

/* high: -1 for nobody. */
static float *cell(struct planner_state *s, int type, int low, int high)
{
    size_t at = ((size_t)type * width_of(s) + (size_t)low) * row_of(s);

    return &memo_now(s)->costs.items[at + (size_t)(high + 1)];
}

/* A slot for the first job of a shape, its row and column empty at first; -1: all are
 * taken. */
static int take_slot(struct planner_state *s, struct planner_memo *memo)
{
    if ((size_t)memo->slots == width_of(s))
        return -1;
    for (int t = 0; t < s->in->cluster->type_count; t++) {
        *cell(s, t, memo->slots, -1) = NAN;
        for (int i = 0; i <= memo->slots; i++)
            *cell(s, t, i, memo->slots) = NAN;
    }
    return memo->slots++;
}

static int find_slot(struct planner_state *s, struct planner_memo *memo, int job)
{
    const struct shape shape = shape_of(s, job);
    size_t at = hash_of(&shape) % PLANNER_MEMO_HASH;

    for (; memo->table[at] > 0; at = (at + 1) % PLANNER_MEMO_HASH) {
        int other = memo->table[at] - 1;
        const struct shape its = shape_of(s, other);

        if (alike(&shape, &its))
            return memo->jobs.items[other].slot;
    }
    if ((size_t)memo->slots < width_of(s))
        memo->table[at] = job + 1;
    return take_slot(s, memo);
}

/* What is kept of the job in this view. */
static struct planner_kept *kept_of(struct planner_state *s, int job)
{
    struct planner_memo *memo = memo_now(s);
    struct planner_kept *kept = &memo->jobs.items[job];

    if (kept->look != memo->look) {
        *kept = (struct planner_kept){.look = memo->look, .here = NAN};
        kept->slot = find_slot(s, memo, job);
    }
    return kept;
}

bool planner_runs_here(const struct planner_state *s, int type, int a, int b)
{
    int home = s->jobs.items[a].home;
    const struct device *dev;

    if (home < 0 || (b >= 0 && s->jobs.items[b].home != home))
        return false;
    dev = &s->in->cluster->devices[home];
    return dev->type == type && dev->job_count == (b >= 0 ? 2 : 1);
}

float *planner_memo_of(struct planner_state *s, int type, int a, int b)
{
    int x, y;

    if (planner_runs_here(s, type, a, b))
        return &kept_of(s, b >= 0 && b < a ? b : a)->here;
    x = kept_of(s, a)->slot;
    y = b < 0 ? -1 : kept_of(s, b)->slot;
    if (x < 0 || (b >= 0 && y < 0))
        return NULL;
    if (b < 0)
        return cell(s, type, x, -1);
    return cell(s, type, x < y ? x : y, x < y ? y : x);
}

struct planner_alone *planner_alone_of(struct planner_state *s, int type, int job)
{
    size_t types = (size_t)s->in->cluster->type_count;

    return many(s) ? &s->alone.items[(size_t)job * types + (size_t)type] : NULL;
}

struct planner_beside *planner_beside_of(struct planner_state *s, int type, int a, int b)
{
    uint64_t pair = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;

    if (!many(s) || !s->jobs.items[a].gang)
        return NULL;
    vec_reserve(&s->beside, PLANNER_BESIDE);
    return &s->beside.items[rng_mix(pair, (uint64_t)type) % PLANNER_BESIDE];
}

static void begin_anew(struct planner_state *s, struct planner_memo *memo)
{
    memo->look = ++s->looks;
    if (memo->slots > 0)
        memset(memo->table, 0, sizeof(memo->table));
    memo->slots = 0;
}

void planner_memo_load(struct planner_state *s)
{
    size_t types = (size_t)s->in->cluster->type_count;

    for (int m = 0; m < 2; m++) {
        vec_reserve(&s->memos[m].jobs, s->jobs.count);
        vec_reserve(&s->memos[m].costs, types * width_of(s) * row_of(s));
    }
    if (many(s))
        vec_reserve(&s->alone, s->jobs.count * types);
    planner_look(s, (struct planner_view){0});
}

void planner_look(struct planner_state *s, struct planner_view view)
{
    s->view = view;
    s->aside = 0;
    for (int m = 0; m < 2; m++)
        begin_anew(s, &s->memos[m]);
}

void planner_look_aside(struct planner_state *s, bool aside, struct planner_view view)
{
    assert(s->aside != aside);
    s->view = view;
    s->aside = aside;
}

void planner_memo_fini(struct planner_state *s)
{
    for (int m = 0; m < 2; m++) {
        vec_free(&s->memos[m].jobs);
        vec_free(&s->memos[m].costs);
    }
    vec_free(&s->alone);
    vec_free(&s->beside);
}
