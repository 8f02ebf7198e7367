/* promises.c - over a thousand random states: the quoted place is the place, and a job
 * whose promise breaks is never stopped for want of a better place */
#include "loop_fixture.h"

#include "base/rng.h"
#include "loop/loop.h"
#include "loop/loop_settings.h"

#define STATES   1000
#define JOBS_MAX 24

/* What is believed is off by a factor of its own for each job and type. */
struct guess {
    uint64_t seed;
    double doubt; /* of the log */
};

static double drawn(uint64_t seed, uint64_t job, uint64_t what)
{
    struct rng rng;

    rng_init(&rng, rng_mix(rng_mix(seed, job), what));
    return rng_normal(&rng);
}

static double true_rate(uint64_t seed, const struct job *job, int type, int beside)
{
    double rate = (type == FAST ? 40 : 12) * exp(0.5 * drawn(seed, job->id, 1));

    return beside ? rate * (0.5 + 0.4 / (1 + exp(drawn(seed, job->id, 2)))) : rate;
}

static void guess_predict(const void *self, struct prediction_cache *cache,
                          const struct combination *where, struct prediction *out)
{
    const struct guess *g = self;

    (void)cache;
    for (int i = 0; i < where->count; i++) {
        const struct job *job = where->members[i].job;
        double off = g->doubt * drawn(g->seed, job->id, 10 + (uint64_t)where->type);
        double rate = true_rate(g->seed, job, where->type, where->count - 1);

        out->rate[i] =
            estimate_from_log(log(rate) + off, g->doubt, ESTIMATE_CORRELATED, 1);
    }
    out->watts =
        estimate_from_log(log((where->type == FAST ? 250 : 70) + 20.0 * where->count),
                          0.1, ESTIMATE_CORRELATED, 1);
    out->fits = 1;
}

static void guess_job(void *self, const struct job *job)
{
    (void)self;
    (void)job;
}

static void guess_absorb(void *self, const struct observation *seen)
{
    (void)self;
    (void)seen;
}

static const struct model_ops guess_ops = {.name = "guess",
                                           .begin = guess_job,
                                           .end = guess_job,
                                           .predict = guess_predict,
                                           .absorb = guess_absorb,
                                           .destroy = fixture_destroy};

struct world_state {
    struct guess guess;
    struct rng rng;
    struct loop *loop;
    double now_s;
    uint64_t jobs;
    long quotes, at_place; /* accepted, started at once; where the quote said */
    long broken;           /* rounds after a broken promise */
};

static void begin(struct world_state *w, uint64_t seed)
{
    struct loop_options options = {.settings = settings_default(), .seed = seed};
    struct cluster *cluster = cluster_create(fixture_types, TYPES);

    rng_init(&w->rng, seed);
    w->guess = (struct guess){.seed = seed, .doubt = 0.05 + 0.4 * rng_uniform(&w->rng)};
    for (size_t n = 1 + rng_below(&w->rng, 4); n > 0; n--)
        fixture_node(cluster, rng_below(&w->rng, 2) ? FAST : SLOW,
                     1 + (int)rng_below(&w->rng, 4));
    w->loop =
        loop_create_take(&options, cluster, (struct model){&guess_ops, &w->guess, NULL},
                         &corgi_planner_ops);
    w->now_s = 1000;
    w->jobs = 0;
}

static void round_now(struct world_state *w)
{
    struct round_result result;
    struct err err = {0};

    if (loop_round(w->loop, w->now_s, &result, &err) < 0)
        fail_msg("%s", err.text);
    for (int n = 0; n < loop_cluster(w->loop)->node_count; n++)
        loop_node_is_awake(w->loop, n, w->now_s);
}

/* A request is quoted, taken and planned, with nothing else in between. */
static void come(struct world_state *w)
{
    struct job job = fixture_rate_job(++w->jobs, 2 + 30 * rng_uniform(&w->rng));
    const struct job_status *status;
    struct err err = {0};
    struct quote quote;

    job.submitted_s = w->now_s;
    job.priority = (int)rng_below(&w->rng, 3);
    job.may_share = rng_uniform(&w->rng) < 0.8;
    if (rng_uniform(&w->rng) < 0.2)
        job.need = (struct requirement){.kind = NEED_BEST_EFFORT};
    if (loop_quote(w->loop, &job, 1, NULL, w->now_s, &quote, &err) < 0)
        fail_msg("%s", err.text);
    if (quote.verdict == QUOTE_REFUSED)
        return;
    if (loop_submit(w->loop, &job, w->now_s, &err) < 0)
        fail_msg("%s", err.text);
    round_now(w);
    status = loop_job(w->loop, job.id);
    if (quote.verdict != QUOTE_ACCEPTED || status->state != JOB_RUNNING)
        return;
    w->quotes++;
    w->at_place += status->devices[0] == quote.devices[0];
}

/* Every running job is measured, some far below what was believed. */
static void measure_all(struct world_state *w)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(w->loop, &count);
    const struct cluster *c = loop_cluster(w->loop);

    w->now_s += 300;
    for (size_t i = 0; i < count; i++) {
        const struct job_status *s = jobs[i];
        struct measurement m = {
            .job = s->job.id, .at_s = w->now_s, .window_s = 60, .device_watts = NAN};

        if (s->state != JOB_RUNNING)
            continue;
        m.rate = true_rate(w->guess.seed, &s->job, c->devices[s->devices[0]].type,
                           c->devices[s->devices[0]].job_count - 1) *
                 (rng_uniform(&w->rng) < 0.3 ? 0.3 : 1);
        loop_measure(w->loop, &m, NULL, NULL);
    }
}

/* The round after a promise broke: whoever ran still runs, there or elsewhere. */
static void check_mend(struct world_state *w)
{
    size_t count, shorts = 0;
    const struct job_status *const *jobs = loop_jobs(w->loop, &count);
    uint64_t broken[JOBS_MAX];

    for (size_t i = 0; i < count; i++)
        if (jobs[i]->state == JOB_RUNNING && shorts < JOBS_MAX &&
            loop_falls_short(w->loop, jobs[i]->job.id, w->now_s))
            broken[shorts++] = jobs[i]->job.id;
    assert_true(shorts == 0 || loop_round_due_s(w->loop) <= w->now_s);
    round_now(w);
    for (size_t i = 0; i < shorts; i++)
        assert_int_equal(loop_job(w->loop, broken[i])->state, JOB_RUNNING);
    w->broken += shorts > 0;
}

static void a_thousand_states(void **state)
{
    struct world_state w = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        begin(&w, seed);
        for (size_t n = 2 + rng_below(&w.rng, JOBS_MAX - 2); n > 0; n--) {
            w.now_s += 60 * rng_uniform(&w.rng);
            come(&w);
            if (rng_uniform(&w.rng) < 0.2 && loop_job(w.loop, w.jobs / 2))
                loop_end_job(w.loop, w.jobs / 2, w.now_s, NULL);
            round_now(&w);
        }
        for (int windows = 0; windows < 3; windows++) {
            measure_all(&w);
            check_mend(&w);
        }
        loop_destroy(w.loop);
    }
    print_message("quoted place kept: %ld of %ld; rounds after a broken promise: %ld\n",
                  w.at_place, w.quotes, w.broken);
    assert_true(w.quotes > 2000 && w.broken > STATES);
    assert_true((double)w.at_place >= 0.95 * (double)w.quotes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
