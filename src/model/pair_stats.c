/* pair_stats.c - see pair_stats.h */
#include "model/pair_stats.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

/* Mean log relative speed before anything is known: somewhat better than half. */
#define PRIOR_MEAN   (-0.598)
#define PRIOR_COUNT  4.0

#define OMEGA_CENTRE 8.0
#define BETA_CENTRE  3.0
#define CLIP         4.0f

struct pair_sums {
    double sum, n;
};

struct seen {
    struct cell cell;
    double value;
};

struct stats {
    vec_of(struct job_trait) jobs;
    vec_of(int) kin;    /* (jobs) the job of the same family added before; -1: none */
    vec_of(int) newest; /* (families) the job added last */
    vec_of(struct seen) seen;
    int gpus;
};

struct stats_row {
    const struct stats *stats;
    struct gp_guests guests;
    int job;
    size_t jobs; /* guests included */
    double gpu_mean[WORLD_MAX_GPUS];
    double gpu_count[WORLD_MAX_GPUS];
    struct pair_sums *suffers; /* (jobs, gpus) residuals of each job's own speed */
    struct pair_sums *presses; /* (jobs, gpus) residuals beside each job */
    struct pair_sums *suffers_all, *presses_all;  /* (jobs) over all GPUs */
    struct pair_sums kin_suffers[WORLD_MAX_GPUS]; /* of this job's family on each GPU */
    struct pair_sums kin_suffers_all;
    struct pair_sums *cells;  /* (gpus, jobs) of this job's cells */
    struct pair_sums *mirror; /* (gpus, jobs) of the others beside this job */
    struct pair_sums *family; /* (gpus, jobs) cells of this job's family, by nearness */
    /* Of co-runners, made when one is first asked for: the same on every GPU or a walk
     * over its family that serves all of them. */
    bool *ready;                   /* (jobs) */
    struct pair_sums *kin_presses; /* (jobs, gpus) beside its family */
    struct pair_sums *kin_pair;    /* (jobs, gpus) this job's family beside its family */
    struct pair_sums *cells_all;   /* (jobs) this job beside it, over all GPUs */
    float *kin_presses_all;        /* (jobs) shrunk mean over all GPUs */
};

struct stats *stats_create(void)
{
    return mem_new(struct stats);
}

void stats_destroy(struct stats *s)
{
    if (!s)
        return;
    vec_free(&s->jobs);
    vec_free(&s->kin);
    vec_free(&s->newest);
    vec_free(&s->seen);
    free(s);
}

int stats_add_job(struct stats *s, const struct job_trait *job)
{
    int family = job->family, kin = -1;

    while (family >= (int)s->newest.count)
        vec_push(&s->newest, -1);
    if (family >= 0) {
        kin = s->newest.items[family];
        s->newest.items[family] = (int)s->jobs.count;
    }
    vec_push(&s->kin, kin);
    vec_push(&s->jobs, *job);
    return (int)s->jobs.count - 1;
}

int stats_add_gpu(struct stats *s)
{
    return s->gpus++;
}

void stats_observe(struct stats *s, struct cell cell, double value)
{
    vec_push(&s->seen, (struct seen){cell, value});
}

void stats_rewind(struct stats *s, size_t count)
{
    if (count < s->seen.count)
        s->seen.count = count;
}

size_t stats_count(const struct stats *s)
{
    return s->seen.count;
}

double stats_seen(const struct stats *s, size_t index, struct cell *cell)
{
    *cell = s->seen.items[index].cell;
    return s->seen.items[index].value;
}

static const struct job_trait *trait_of(const struct stats_row *row, int job)
{
    int known = (int)row->stats->jobs.count;

    return job < known ? &row->stats->jobs.items[job] : &row->guests.traits[job - known];
}

/* The newest job of a job's family, -1 when it has none; go on with kin. */
static int newest_kin(const struct stats_row *row, int job)
{
    int family = trait_of(row, job)->family;

    return family >= 0 && family < (int)row->stats->newest.count
               ? row->stats->newest.items[family]
               : -1;
}

/* Jobs of one family count by nearness of batch; others not at all. */
static double kinship(const struct stats_row *row, int a, int b)
{
    const struct job_trait *x = trait_of(row, a), *y = trait_of(row, b);

    if (a == b)
        return 1;
    if (x->family < 0 || x->family != y->family)
        return 0;
    return exp(-0.5 * (x->beta - y->beta) * (x->beta - y->beta));
}

static void gpu_means(struct stats_row *row)
{
    double sum[WORLD_MAX_GPUS] = {0};
    double all = PRIOR_COUNT * PRIOR_MEAN, count = PRIOR_COUNT;

    vec_each (const struct seen, o, &row->stats->seen) {
        sum[o->cell.gpu] += o->value;
        row->gpu_count[o->cell.gpu]++;
        all += o->value;
        count++;
    }
    for (int g = 0; g < row->stats->gpus; g++)
        row->gpu_mean[g] =
            (sum[g] + PRIOR_COUNT * all / count) / (row->gpu_count[g] + PRIOR_COUNT);
}

static void add(struct pair_sums *to, double value, double weight)
{
    to->sum += weight * value;
    to->n += weight;
}

/* Of a job's family without itself: of (jobs, stride), the column `at` of it. */
static struct pair_sums of_kin(const struct stats_row *row, const struct pair_sums *of,
                               size_t stride, size_t at, int job)
{
    struct pair_sums all = {0, 0};

    for (int j = newest_kin(row, job); j >= 0; j = row->stats->kin.items[j]) {
        const struct pair_sums *s = &of[(size_t)j * stride + at];
        double kin;

        if (j == job || s->n <= 0)
            continue;
        kin = kinship(row, job, j);
        all.sum += kin * s->sum;
        all.n += kin * s->n;
    }
    return all;
}

/* What does not depend on the co-runner, or not on the GPU, once for the whole row. */
static void sum_up(struct stats_row *row)
{
    size_t gpus = (size_t)row->stats->gpus;

    for (size_t j = 0; j < row->jobs; j++)
        for (size_t g = 0; g < gpus; g++) {
            const struct pair_sums *own = &row->suffers[j * gpus + g];
            const struct pair_sums *beside = &row->presses[j * gpus + g];

            row->suffers_all[j].sum += own->sum;
            row->suffers_all[j].n += own->n;
            row->presses_all[j].sum += beside->sum;
            row->presses_all[j].n += beside->n;
        }
    for (size_t g = 0; g < gpus; g++)
        row->kin_suffers[g] = of_kin(row, row->suffers, gpus, g, row->job);
    row->kin_suffers_all = of_kin(row, row->suffers_all, 1, 0, row->job);
}

struct stats_row *stats_row_create(const struct stats *s, int job,
                                   const struct gp_guests *guests)
{
    struct stats_row *row = mem_new(struct stats_row);
    size_t jobs = s->jobs.count + (guests ? (size_t)guests->count : 0);
    size_t cells = jobs * (size_t)s->gpus + 1;

    row->stats = s;
    if (guests)
        row->guests = *guests;
    row->job = job;
    row->jobs = jobs;
    row->suffers = mem_array(struct pair_sums, cells);
    row->presses = mem_array(struct pair_sums, cells);
    row->suffers_all = mem_array(struct pair_sums, jobs + 1);
    row->presses_all = mem_array(struct pair_sums, jobs + 1);
    row->cells = mem_array(struct pair_sums, cells);
    row->mirror = mem_array(struct pair_sums, cells);
    row->family = mem_array(struct pair_sums, cells);
    row->ready = mem_array(bool, jobs + 1);
    row->kin_presses = mem_array(struct pair_sums, cells);
    row->kin_pair = mem_array(struct pair_sums, cells);
    row->cells_all = mem_array(struct pair_sums, jobs + 1);
    row->kin_presses_all = mem_array(float, jobs + 1);
    gpu_means(row);
    vec_each (const struct seen, o, &s->seen) {
        size_t g = (size_t)o->cell.gpu, a = (size_t)o->cell.job,
               k = (size_t)o->cell.other;
        double residual = o->value - row->gpu_mean[g];
        double kin = kinship(row, job, o->cell.job);

        add(&row->suffers[a * (size_t)s->gpus + g], residual, 1);
        add(&row->presses[k * (size_t)s->gpus + g], residual, 1);
        if (o->cell.job == job)
            add(&row->cells[g * jobs + k], residual, 1);
        if (o->cell.other == job && o->cell.job != job)
            add(&row->mirror[g * jobs + a], residual, 1);
        if (kin > 0)
            add(&row->family[g * jobs + k], residual, kin);
    }
    sum_up(row);
    return row;
}

bool stats_row_measured(const struct stats_row *row)
{
    return row->suffers_all[row->job].n > 0;
}

void stats_row_destroy(struct stats_row *row)
{
    if (!row)
        return;
    free(row->suffers);
    free(row->presses);
    free(row->suffers_all);
    free(row->presses_all);
    free(row->cells);
    free(row->mirror);
    free(row->family);
    free(row->ready);
    free(row->kin_presses);
    free(row->kin_pair);
    free(row->cells_all);
    free(row->kin_presses_all);
    free(row);
}

static struct pair_sums without(struct pair_sums s, struct pair_sums own)
{
    return (struct pair_sums){s.sum - own.sum, s.n - own.n};
}

static float mean_of(struct pair_sums s, double shrink)
{
    return s.n > 0 ? (float)(4 * s.sum / (s.n + shrink)) : 0; /* as below */
}

static float count_of(struct pair_sums s)
{
    return s.n > 0 ? logf(1 + (float)s.n) / 3 : 0; /* most are 0, and logs cost */
}

/* What one relative of a co-runner adds, on every GPU. */
static void add_kin(struct stats_row *row, int other, int kin_job, double kin)
{
    size_t gpus = (size_t)row->stats->gpus;
    const struct pair_sums *presses = row->presses + (size_t)kin_job * gpus;
    struct pair_sums *column = row->kin_presses + (size_t)other * gpus;
    struct pair_sums *pair = row->kin_pair + (size_t)other * gpus;

    for (size_t g = 0; g < gpus; g++) {
        const struct pair_sums *family = &row->family[g * row->jobs + (size_t)kin_job];

        column[g].sum += kin * presses[g].sum;
        column[g].n += kin * presses[g].n;
        pair[g].sum += kin * family->sum;
        pair[g].n += kin * family->n;
    }
}

static void make_ready(struct stats_row *row, int other)
{
    size_t gpus = (size_t)row->stats->gpus, k = (size_t)other;
    struct pair_sums all = {0, 0};

    for (size_t g = 0; g < gpus; g++) {
        row->kin_pair[k * gpus + g] = row->family[g * row->jobs + k];
        row->cells_all[k].sum += row->cells[g * row->jobs + k].sum;
        row->cells_all[k].n += row->cells[g * row->jobs + k].n;
    }
    for (int j = newest_kin(row, other); j >= 0; j = row->stats->kin.items[j]) {
        double kin;

        /* What was seen of a pair of families was seen beside one of the second. */
        if (j == other || row->presses_all[j].n <= 0)
            continue;
        kin = kinship(row, other, j);
        all.sum += kin * row->presses_all[j].sum;
        all.n += kin * row->presses_all[j].n;
        add_kin(row, other, j, kin);
    }
    row->kin_presses_all[k] = mean_of(all, 1);
    row->ready[k] = true;
}

static void job_features(const struct stats_row *row, int other, float *x)
{
    const struct job_trait *j = trait_of(row, row->job), *k = trait_of(row, other);

    x[0] = (float)(j->omega - OMEGA_CENTRE);
    x[1] = (float)(k->omega - OMEGA_CENTRE);
    x[2] = (float)(j->beta - BETA_CENTRE);
    x[3] = (float)(k->beta - BETA_CENTRE);
}

struct stats_cell stats_features(struct stats_row *row, int gpu, int other,
                                 bool without_own, float x[STATS_FEATURES])
{
    size_t gpus = (size_t)row->stats->gpus, g = (size_t)gpu;
    size_t at_j = (size_t)row->job * gpus + g, at_k = (size_t)other * gpus + g;
    struct pair_sums own = row->cells[g * row->jobs + (size_t)other];
    struct pair_sums hidden = without_own ? own : (struct pair_sums){0, 0};
    struct pair_sums row_here = without(row->suffers[at_j], hidden);
    struct pair_sums row_all = without(row->suffers_all[row->job], hidden);
    struct pair_sums column = without(row->presses[at_k], hidden);
    struct pair_sums column_all = without(row->presses_all[other], hidden);
    struct pair_sums kin_row = row->kin_suffers[g];
    struct pair_sums mirror = row->mirror[g * row->jobs + (size_t)other];
    struct pair_sums kin_column, pair, elsewhere = {0, 0};

    if (!row->ready[other])
        make_ready(row, other);
    kin_column = row->kin_presses[at_k];
    pair = without(row->kin_pair[at_k], hidden);
    if (row->cells_all[other].n > own.n)
        elsewhere = without(row->cells_all[other], own);
    x[0] = (float)(4 * (row->gpu_mean[g] - PRIOR_MEAN));
    x[1] = count_of((struct pair_sums){0, row->gpu_count[g]});
    x[2] = mean_of(row_here, 1);
    x[3] = count_of(row_here);
    x[4] = mean_of(row_all, 1);
    x[5] = count_of(row_all);
    x[6] = mean_of(column, 1);
    x[7] = count_of(column);
    x[8] = mean_of(column_all, 1);
    x[9] = count_of(column_all);
    x[10] = mean_of(row->presses[at_j], 1);
    x[11] = mean_of(row->presses_all[row->job], 1);
    x[12] = mean_of(row->suffers[at_k], 1);
    x[13] = mean_of(row->suffers_all[other], 1);
    x[14] = mean_of(kin_row, 1);
    x[15] = count_of(kin_row);
    x[16] = mean_of(kin_column, 1);
    x[17] = count_of(kin_column);
    x[18] = mean_of(pair, 0.5);
    x[19] = count_of(pair);
    x[20] = mean_of(elsewhere, 0.5);
    x[21] = count_of(elsewhere);
    x[22] = mean_of(mirror, 0.5);
    x[23] = count_of(mirror);
    job_features(row, other, x + 24);
    x[28] = mean_of(row->kin_suffers_all, 1);
    x[29] = row->kin_presses_all[other];
    for (int i = 0; i < STATS_FEATURES; i++)
        x[i] = x[i] > CLIP ? CLIP : x[i] < -CLIP ? -CLIP : x[i];
    return (struct stats_cell){
        .base = row->gpu_mean[g] + (double)(x[2] + x[6]) / 4,
        .sum = own.sum + own.n * row->gpu_mean[g],
        .times = own.n,
    };
}

float stats_blind(float x[STATS_FEATURES], float base)
{
    static const int own[] = {2, 3, 4, 5, 10, 11, 20, 21, 22, 23};

    base -= x[2] / 4;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        x[own[i]] = 0;
    return base;
}

struct stats *stats_dup(const struct stats *s)
{
    struct stats *copy = mem_dup(s, 1, sizeof(*s));

    copy->jobs.items = mem_dup(s->jobs.items, s->jobs.capacity, sizeof(*s->jobs.items));
    copy->kin.items = mem_dup(s->kin.items, s->kin.capacity, sizeof(*s->kin.items));
    copy->newest.items =
        mem_dup(s->newest.items, s->newest.capacity, sizeof(*s->newest.items));
    copy->seen.items = mem_dup(s->seen.items, s->seen.capacity, sizeof(*s->seen.items));
    return copy;
}
