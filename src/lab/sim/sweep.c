/* sweep.c - see sweep.h */
#include "lab/sim/sweep.h"

#include "base/mem.h"
#include "lab/bound/energy_bound.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 64

struct sweep_work {
    const struct sweep_options *options;
    struct sweep *sweep;
    size_t scenario_count;
    struct scenario *scenarios; /* (loads, seeds) read by all, written by none */
    size_t task_count;          /* rows times seeds */
    sim_progress *progress;
    void *progress_ctx;
    pthread_mutex_t mutex; /* guards what follows, and calls of progress */
    size_t next;
    size_t done;
    double shares[MAX_THREADS]; /* how far the run of each worker is */
    int workers;
    bool failed;
    struct err err;
};

struct sweep_worker {
    struct sweep_work *work;
    int number;
};

/* The mutex is held. */
static void tell_progress(const struct sweep_work *w)
{
    double done = (double)w->done;

    for (int i = 0; i < w->workers; i++)
        done += w->shares[i];
    if (w->progress)
        w->progress(w->progress_ctx, done / (double)w->task_count);
}

static void run_goes_on(void *ctx, double share)
{
    struct sweep_worker *me = ctx;

    pthread_mutex_lock(&me->work->mutex);
    me->work->shares[me->number] = share;
    tell_progress(me->work);
    pthread_mutex_unlock(&me->work->mutex);
}

/* Rows with sleep, and rows without when both are asked for. */
static size_t sleep_modes(const struct sweep_options *o)
{
    return o->both_sleeps ? 2 : 1;
}

static struct sim_options settings_of(const struct sweep_options *o,
                                      const struct sweep_row *row,
                                      const struct scenario *scenario, uint64_t seed)
{
    const struct policy *policy = row->policy;
    struct sim_options sim = o->sim;

    sim.seed = seed;
    sim.drift = scenario->drift;
    sim.settings.sleep = row->sleep;
    if (policy->share_max)
        sim.settings.share_max = policy->share_max;
    sim.settings.moves = sim.settings.moves && !policy->no_moves;
    sim.settings.caps = sim.settings.caps && !policy->no_caps;
    if (policy->no_explore)
        sim.settings.explore = 0;
    return sim;
}

static int run_task(struct sweep_worker *me, size_t task, struct err *err)
{
    struct sweep_work *w = me->work;
    const struct sweep_options *o = w->options;
    size_t seeds = (size_t)o->seeds, seed = task % seeds;
    struct sweep_row *row = &w->sweep->rows[task / seeds];
    size_t load = (task / seeds) / (o->policy_count * sleep_modes(o));
    const struct scenario *s = &w->scenarios[load * seeds + seed];
    struct sim_options sim = settings_of(o, row, s, o->scenario.seed + seed);
    const struct sim_setup setup = {
        .world = s->world,
        .workload = s->workload,
        .cluster = s->cluster,
        .gpu_of_type = s->gpu_of_type,
        .planner = row->policy->planner,
        .model = row->policy->model,
        .schedule = row->policy->follows ? s->schedule : NULL,
        .late_type = s->late_type,
        .late_s = s->late_s,
        .progress = run_goes_on,
        .progress_ctx = me,
    };
    struct sim_options recorded = sim;

    recorded.record_sights = o->record;
    recorded.record_places = o->record && seed == 0 && load == sweep_recorded_load(o);
    if (sim_run(&recorded, &setup, &row->runs[seed], err) == 0)
        return 0;
    if (isnan(row->load))
        return err_prefix(err, "%s, seed %llu", row->policy->name,
                          (unsigned long long)sim.seed);
    return err_prefix(err, "%s at %.0f %% load, seed %llu", row->policy->name,
                      100 * row->load, (unsigned long long)sim.seed);
}

static void *worker(void *arg)
{
    struct sweep_work *w = arg;
    struct sweep_worker me = {.work = w};

    pthread_mutex_lock(&w->mutex);
    me.number = w->workers++;
    pthread_mutex_unlock(&w->mutex);
    for (;;) {
        struct err err = {0};
        size_t task;
        int rc;

        pthread_mutex_lock(&w->mutex);
        task = w->failed ? w->task_count : w->next++;
        pthread_mutex_unlock(&w->mutex);
        if (task >= w->task_count)
            return NULL;
        rc = run_task(&me, task, &err);
        pthread_mutex_lock(&w->mutex);
        if (rc < 0 && !w->failed) {
            w->failed = true;
            w->err = err;
        }
        w->shares[me.number] = 0;
        w->done++;
        tell_progress(w);
        pthread_mutex_unlock(&w->mutex);
    }
}

static void run_threads(struct sweep_work *w)
{
    long threads =
        w->options->threads > 0 ? w->options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t ids[MAX_THREADS];
    int started = 0;

    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if ((size_t)threads > w->task_count)
        threads = (long)w->task_count;
    for (long i = 1; i < threads; i++)
        if (pthread_create(&ids[started], NULL, worker, w) == 0)
            started++;
    worker(w); /* this thread works too: a failed pthread_create only costs time */
    for (int i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
}

static int build_scenarios(struct sweep_work *w, struct err *err)
{
    const struct sweep_options *o = w->options;

    for (size_t l = 0; l < o->load_count; l++) {
        for (int s = 0; s < o->seeds; s++) {
            struct scenario_options options = o->scenario;

            options.load = o->loads[l];
            options.seed = o->scenario.seed + (uint64_t)s;
            if (scenario_build(&w->scenarios[w->scenario_count], &options, err) < 0)
                return -1;
            w->scenario_count++;
        }
    }
    return 0;
}

static void make_rows(struct sweep *sweep, const struct sweep_options *o)
{
    size_t modes = sleep_modes(o);

    sweep->row_count = o->load_count * modes * o->policy_count;
    sweep->rows = mem_array(struct sweep_row, sweep->row_count);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct policy *policy = o->policies[i % o->policy_count];
        size_t mode = i / o->policy_count % modes;
        bool sleep = o->both_sleeps ? mode == 0 : o->sim.settings.sleep;

        sweep->rows[i] = (struct sweep_row){
            .policy = policy,
            .load = o->scenario.trace || o->scenario.as_is
                        ? NAN
                        : o->loads[i / o->policy_count / modes],
            .sleep = sleep && !policy->no_sleep,
            .seeds = o->seeds,
            .runs = mem_array(struct sim_result, (size_t)o->seeds),
        };
    }
}

/* The first row of a scenario finds its bound, the others take it over. */
static void tell_bounds(const struct sweep_work *w, size_t i)
{
    const struct sweep_options *o = w->options;
    size_t group = o->policy_count * sleep_modes(o), seeds = (size_t)o->seeds;
    struct sweep_row *row = &w->sweep->rows[i];

    for (size_t seed = 0; seed < seeds; seed++) {
        const struct scenario *s = &w->scenarios[i / group * seeds + seed];
        const struct truth truth = {.world = s->world,
                                    .gpu_of_type = s->gpu_of_type,
                                    .alone_sd = o->sim.alone_sd,
                                    .beside_sd = o->sim.beside_sd,
                                    .gang_interference = o->sim.gang_interference,
                                    .cap_steepness = o->sim.cap_steepness,
                                    .drawn_power = o->sim.drawn_power,
                                    .drift = s->drift};
        const struct bound_case in = {.truth = &truth,
                                      .workload = s->workload,
                                      .cluster = s->cluster,
                                      .grace_s = o->sim.settings.grace_s,
                                      .share_max = o->sim.settings.share_max,
                                      .caps = o->sim.settings.caps};

        row->runs[seed].bound_j =
            i % group > 0 ? (row - 1)->runs[seed].bound_j : energy_bound_joules(&in);
    }
}

int sweep_run(struct sweep *sweep, const struct sweep_options *options,
              sim_progress *progress, void *progress_ctx, struct err *err)
{
    struct sweep made = {0};
    struct sweep_work w = {.options = options,
                           .sweep = &made,
                           .progress = progress,
                           .progress_ctx = progress_ctx,
                           .mutex = PTHREAD_MUTEX_INITIALIZER};
    int rc = -1;

    w.scenarios =
        mem_array(struct scenario, options->load_count * (size_t)options->seeds);
    make_rows(&made, options);
    w.task_count = made.row_count * (size_t)options->seeds;
    if (build_scenarios(&w, err) < 0)
        goto done;
    run_threads(&w);
    if (w.failed) {
        *err = w.err;
        goto done;
    }
    for (size_t i = 0; i < made.row_count * (size_t)options->bound; i++)
        tell_bounds(&w, i);
    *sweep = made;
    made = (struct sweep){0}; /* the caller's now */
    rc = 0;
done:
    for (size_t i = 0; i < w.scenario_count; i++)
        scenario_fini(&w.scenarios[i]);
    free(w.scenarios);
    sweep_fini(&made);
    return rc;
}

void sweep_fini(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->row_count; i++) {
        for (int s = 0; s < sweep->rows[i].seeds; s++)
            sim_result_fini(&sweep->rows[i].runs[s]);
        free(sweep->rows[i].runs);
    }
    free(sweep->rows);
    *sweep = (struct sweep){0};
}

/* Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond, the normal's. */
static double student95(int freedom)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

    return freedom <= 30 ? t[freedom - 1] : 1.96;
}

struct sweep_mean sweep_mean_of(const double *values, int count)
{
    struct sweep_mean m = {.half_width = NAN};
    double squares = 0;

    for (int i = 0; i < count; i++)
        m.mean += values[i] / count;
    if (count < 2)
        return m;
    for (int i = 0; i < count; i++)
        squares += pow(values[i] - m.mean, 2);
    m.half_width = student95(count - 1) * sqrt(squares / (count - 1)) / sqrt(count);
    return m;
}

struct sweep_mean sweep_mean(const struct sweep_row *row,
                             double (*value)(const struct sim_result *))
{
    double *values = mem_array(double, (size_t)row->seeds);
    struct sweep_mean m = {NAN, NAN};
    int count = 0;

    for (int s = 0; s < row->seeds; s++) {
        values[count] = value(&row->runs[s]);
        count += !isnan(values[count]); /* else this run had nothing to tell */
    }
    if (count > 0)
        m = sweep_mean_of(values, count);
    free(values);
    return m;
}

size_t sweep_recorded_load(const struct sweep_options *options)
{
    return options->load_count / 2;
}

struct quarter sweep_quarter(const struct sweep_row *row, int part)
{
    struct quarter mean = {0};

    for (int s = 0; s < row->seeds; s++) {
        const struct quarter *q = &row->runs[s].quarters[part];

        mean.seconds += q->seconds / row->seeds;
        mean.energy_j += q->energy_j / row->seeds;
        mean.work_h += q->work_h / row->seeds;
        mean.counted_s += q->counted_s / row->seeds;
        mean.violated_s += q->violated_s / row->seeds;
        mean.moves += q->moves / row->seeds;
        mean.sights += q->sights / row->seeds;
        mean.log_error += q->log_error / row->seeds;
    }
    return mean;
}

struct sweep_mean sweep_paired(const struct sweep_row *row, const struct sweep_row *base,
                               double (*value)(const struct sim_result *), bool percent)
{
    int seeds = row->seeds < base->seeds ? row->seeds : base->seeds;
    double *differences = mem_array(double, (size_t)seeds);
    struct sweep_mean mean;

    for (int s = 0; s < seeds; s++) {
        double mine = value(&row->runs[s]), other = value(&base->runs[s]);

        differences[s] =
            percent ? (other > 0 ? 100 * (mine / other - 1) : NAN) : mine - other;
    }
    mean = sweep_mean_of(differences, seeds);
    free(differences);
    return mean;
}

static bool same_load(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Where policies come a second time, as without sleep, another group begins. */
size_t sweep_group(const struct sweep *sweep, size_t first)
{
    const struct sweep_row *rows = &sweep->rows[first];
    size_t n = 1;

    while (first + n < sweep->row_count && same_load(rows[n].load, rows[0].load) &&
           rows[n].policy != rows[0].policy)
        n++;
    return n;
}

const struct sweep_row *sweep_peer(const struct sweep *sweep, size_t i,
                                   const char *policy)
{
    size_t first = 0, count = sweep_group(sweep, 0);

    while (first + count <= i) {
        first += count;
        count = sweep_group(sweep, first);
    }
    for (size_t k = first; k < first + count; k++)
        if (!strcmp(sweep->rows[k].policy->name, policy))
            return &sweep->rows[k];
    return NULL;
}

double sweep_quarter_to_oracle(const struct sweep *sweep, size_t i, int part)
{
    const struct sweep_row *oracle = sweep_peer(sweep, i, "oracle");
    struct quarter mine = sweep_quarter(&sweep->rows[i], part), best;

    if (!oracle)
        return NAN;
    best = sweep_quarter(oracle, part);
    return 100 * (quarter_wh_per_work(&mine) / quarter_wh_per_work(&best) - 1);
}
