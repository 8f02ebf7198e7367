/* planning_thread.c - see planning_thread.h */
#include "service/planning_thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "http/workers.h"
#include "model/learned.h"
#include "model/prediction_cache.h"

#include <stdlib.h>

/* Adapting takes a thread for seconds; not more often than this. */
#define ADAPT_GAP_S 30.0
/* What was measured while the thread adapted is taught on the thread too, until so little
 * is left that the daemon's thread can do the rest without anybody noticing. */
#define SWAP_LESSONS 8

struct task { /* what the thread has in hand; the daemon's thread does not touch it */
    struct planning_thread *mind;
    vec_of(struct seen *) lessons;
    vec_of(struct job) ended;
    struct round *round;
    bool adapt;
    double asked_s;
    struct planning_thread_timing timing;
    double adapt_s;
    size_t pairs; /* observations of pairs the model has then */
    planning_thread_done *done;
    void *ctx;
};

struct planning_thread {
    struct workers *workers;
    struct loop *loop;
    struct planning_thread_options options;
    struct model model;            /* the thread's while a task runs */
    vec_of(struct seen *) lessons; /* for the next task */
    vec_of(struct job) ended;      /* likewise */
    size_t pairs;                  /* observations of pairs after the last task */
    size_t pairs_adapted;          /* observations of pairs when last adapted */
    double adapted_s;              /* when, on the wall's clock */
    bool twin_behind;              /* the thread's model has yet to be adapted too */
    bool adapting, planning;
    bool swap_due; /* the thread's model is adapted: it becomes the loop's */
    struct planning_thread_stats stats;
};

struct planning_thread *
planning_thread_create(struct reactor *reactor, struct loop *loop,
                       const struct planning_thread_options *options, struct err *err)
{
    const struct cluster *c = loop_cluster(loop);
    struct learned_options how = {.seed = options->seed};
    struct planning_thread *m = mem_new(struct planning_thread);

    m->loop = loop;
    m->options = *options;
    m->model = learned_create(c->types, c->type_count, &how);
    m->model.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    m->adapted_s = clock_wall_s();
    m->workers = workers_create(reactor, "mind", 1, 4, err);
    if (!m->workers) {
        planning_thread_destroy(m);
        return NULL;
    }
    return m;
}

static void drop_lessons(struct seen **lessons, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lessons[i]);
}

void planning_thread_destroy(struct planning_thread *m)
{
    if (!m)
        return;
    workers_destroy(m->workers);
    prediction_cache_destroy(m->model.cache);
    m->model.ops->destroy(m->model.self);
    drop_lessons(m->lessons.items, m->lessons.count);
    vec_free(&m->lessons);
    vec_free(&m->ended);
    free(m);
}

void planning_thread_learn(struct planning_thread *m, const struct observation *o)
{
    struct seen *seen = mem_new(struct seen);

    seen_copy(seen, o);
    vec_push(&m->lessons, seen);
}

void planning_thread_end(struct planning_thread *m, const struct job *job)
{
    vec_push(&m->ended, *job);
}

void planning_thread_recall(struct planning_thread *m, const struct memory *memory)
{
    memory_teach(memory, &m->model);
    m->pairs = learned_count(m->model.self).pairs;
    m->adapted_s = clock_wall_s() - ADAPT_GAP_S; /* as soon as it is idle */
}

/* ---- on the thread ---------------------------------------------------------------- */

static void work(void *ctx)
{
    struct task *t = ctx;
    struct planning_thread *m = t->mind;
    double began_s = clock_wall_s();

    t->timing.waited_s = began_s - t->asked_s;
    for (size_t i = 0; i < t->lessons.count; i++)
        m->model.ops->absorb(m->model.self, &t->lessons.items[i]->observation);
    vec_each (struct job, job, &t->ended)
        m->model.ops->end(m->model.self, job);
    if (t->round)
        round_plan(t->round, NULL); /* the loop learns nothing meanwhile */
    t->timing.solve_s = clock_wall_s() - began_s;
    if (t->adapt) {
        began_s = clock_wall_s();
        learned_adapt(m->model.self);
        t->adapt_s = clock_wall_s() - began_s;
    }
    t->pairs = learned_count(m->model.self).pairs;
}

/* ---- on the daemon's thread ------------------------------------------------------- */

/* The adapted model becomes the loop's; the other, which has seen everything, the
 * thread's. */
static void change_places(struct planning_thread *m)
{
    struct model adapted = m->model;

    for (size_t i = 0; i < m->lessons.count; i++)
        adapted.ops->absorb(adapted.self, &m->lessons.items[i]->observation);
    drop_lessons(m->lessons.items, m->lessons.count);
    vec_clear(&m->lessons);
    vec_each (struct job, job, &m->ended)
        adapted.ops->end(adapted.self, job);
    vec_clear(&m->ended);
    m->model = loop_swap_model(m->loop, adapted);
    m->stats.exchanged++;
}

static int hand_over(struct planning_thread *m, struct task *t, struct err *err);

/* Only while the thread has nothing in hand: the model is its own otherwise. */
static void try_to_change_places(struct planning_thread *m)
{
    struct task *t;
    struct err err = {0};

    if (!m->swap_due || workers_busy(m->workers) > 0)
        return;
    if (m->lessons.count <= SWAP_LESSONS) {
        change_places(m);
        m->swap_due = false;
        return;
    }
    t = mem_new(struct task); /* teaches and nothing else */
    if (hand_over(m, t, &err) < 0)
        log_warn("teaching_refused", LOG_ERR(&err));
}

static void worked(void *ctx)
{
    struct task *t = ctx;
    struct planning_thread *m = t->mind;

    drop_lessons(t->lessons.items, t->lessons.count);
    vec_free(&t->lessons);
    vec_free(&t->ended);
    m->pairs = t->pairs;
    if (t->adapt) {
        m->adapting = false;
        m->stats.adapted++;
        m->stats.adapt_s = t->adapt_s;
        m->adapted_s = clock_wall_s();
        m->pairs_adapted = t->pairs;
        log_info("model_adapted", LOG_NUM("seconds", t->adapt_s),
                 LOG_U64("pairs", m->pairs_adapted));
        m->swap_due = !m->twin_behind;
        m->twin_behind = !m->twin_behind;
    }
    if (t->round) {
        m->planning = false;
        t->done(t->ctx, t->round, &t->timing);
    }
    try_to_change_places(m);
    free(t);
}

static int hand_over(struct planning_thread *m, struct task *t, struct err *err)
{
    t->mind = m;
    t->asked_s = clock_wall_s();
    for (size_t i = 0; i < m->lessons.count; i++)
        vec_push(&t->lessons, m->lessons.items[i]);
    vec_each (struct job, job, &m->ended)
        vec_push(&t->ended, *job);
    if (workers_run(m->workers, work, worked, t, err) < 0) {
        vec_free(&t->lessons);
        vec_free(&t->ended);
        free(t);
        return -1;
    }
    vec_clear(&m->lessons);
    vec_clear(&m->ended);
    return 0;
}

int planning_thread_plan(struct planning_thread *m, struct round *round,
                         planning_thread_done *done, void *ctx, struct err *err)
{
    struct task *t = mem_new(struct task);

    t->round = round;
    t->done = done;
    t->ctx = ctx;
    if (hand_over(m, t, err) < 0)
        return -1;
    m->planning = true;
    return 0;
}

static bool adapting_is_due(const struct planning_thread *m)
{
    double since_s = clock_wall_s() - m->adapted_s;

    if (m->adapting || m->planning || m->swap_due)
        return false;
    if (m->twin_behind)
        return since_s > 1;
    return since_s >= ADAPT_GAP_S &&
           m->pairs + m->lessons.count >=
               m->pairs_adapted + (size_t)m->options.adapt_every;
}

void planning_thread_idle(struct planning_thread *m)
{
    struct task *t;
    struct err err = {0};

    try_to_change_places(m);
    if (!adapting_is_due(m))
        return;
    t = mem_new(struct task);
    t->adapt = true;
    m->adapting = true;
    if (hand_over(m, t, &err) < 0) {
        m->adapting = false;
        log_warn("adapting_refused", LOG_ERR(&err));
    }
}

struct planning_thread_stats planning_thread_stats(const struct planning_thread *m)
{
    struct planning_thread_stats stats = {0};

    if (!m)
        return stats;
    stats = m->stats;
    stats.adapting = m->adapting;
    return stats;
}
