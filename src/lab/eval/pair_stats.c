/* pair_stats.c - features of a cell from what was measured around it: stat_rows.c hands
 * them to boosted trees */
#include "lab/eval/pair_stats.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Mean log relative speed before anything is known: somewhat better than half. */
#define PRIOR_MEAN  (-0.598)
#define PRIOR_COUNT 4.0

#define BETA_CENTRE 3.0
#define CLIP        4.0f

struct pair_sums {
    double sum, n;
};

/* Of a co-runner, made when it is first asked for. */
struct corunner {
    bool ready;
    float kin_presses;          /* its family's pressure, shrunk mean over all GPUs */
    struct pair_sums cells_all; /* this job beside it, over all GPUs */
};

struct stats_row {
    const struct gp *core;
    const struct stats_seen *seen;
    struct gp_guests guests;
    int job;
    size_t jobs; /* guests included */
    double gpu_mean[WORLD_MAX_GPUS];
    double gpu_count[WORLD_MAX_GPUS];
    struct pair_sums *room;    /* of all the arrays below */
    struct pair_sums *suffers; /* (jobs, gpus) residuals of each job's own speed */
    struct pair_sums *presses; /* (jobs, gpus) residuals beside each job */
    struct pair_sums *suffers_all, *presses_all;  /* (jobs) over all GPUs */
    struct pair_sums kin_suffers[WORLD_MAX_GPUS]; /* of this job's family on each GPU */
    struct pair_sums kin_suffers_all;
    struct pair_sums *cells;  /* (gpus, jobs) of this job's cells */
    struct pair_sums *mirror; /* (gpus, jobs) of the others beside this job */
    struct pair_sums *family; /* (gpus, jobs) cells of this job's family, by nearness */
    /* Of co-runners that are ready: a walk over its family serves all GPUs. */
    struct corunner *corunners;    /* (jobs) */
    struct pair_sums *kin_presses; /* (jobs, gpus) beside its family */
    struct pair_sums *kin_pair;    /* (jobs, gpus) this job's family beside its family */
};

static const struct job_trait *trait_of(const struct stats_row *row, int job)
{
    int known = row->core->job_count;

    return job < known ? &row->core->space.jobs[job] : &row->guests.traits[job - known];
}

/* The newest job of a job's family, -1 when it has none; go on with kin. */
static int newest_kin(const struct stats_row *row, int job)
{
    int family = trait_of(row, job)->family;

    return family >= 0 && family < (int)row->core->newest.count
               ? row->core->newest.items[family]
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

    for (size_t i = 0; i < row->seen->count; i++) {
        int gpu = row->seen->cells[i].gpu;

        sum[gpu] += row->seen->values[i];
        row->gpu_count[gpu]++;
        all += row->seen->values[i];
        count++;
    }
    for (int g = 0; g < row->core->gpu_count; g++)
        row->gpu_mean[g] =
            (sum[g] + PRIOR_COUNT * all / count) / (row->gpu_count[g] + PRIOR_COUNT);
}

static void add(struct pair_sums *to, double value, double weight)
{
    to->sum += weight * value;
    to->n += weight;
}

static void add_sums(struct pair_sums *to, const struct pair_sums *from, double weight)
{
    to->sum += weight * from->sum;
    to->n += weight * from->n;
}

/* Of a job's family without itself: of (jobs, stride), the column `at` of it. */
static struct pair_sums of_kin(const struct stats_row *row, const struct pair_sums *of,
                               size_t stride, size_t at, int job)
{
    struct pair_sums all = {0, 0};

    for (int j = newest_kin(row, job); j >= 0; j = row->core->kin.items[j]) {
        const struct pair_sums *s = &of[(size_t)j * stride + at];

        if (j != job && s->n > 0)
            add_sums(&all, s, kinship(row, job, j));
    }
    return all;
}

/* What does not depend on the co-runner, or not on the GPU, once for the whole row. */
static void sum_up(struct stats_row *row)
{
    size_t gpus = (size_t)row->core->gpu_count;

    for (size_t j = 0; j < row->jobs; j++)
        for (size_t g = 0; g < gpus; g++) {
            add_sums(&row->suffers_all[j], &row->suffers[j * gpus + g], 1);
            add_sums(&row->presses_all[j], &row->presses[j * gpus + g], 1);
        }
    for (size_t g = 0; g < gpus; g++)
        row->kin_suffers[g] = of_kin(row, row->suffers, gpus, g, row->job);
    row->kin_suffers_all = of_kin(row, row->suffers_all, 1, 0, row->job);
}

struct stats_row *stats_row_create(const struct gp *core, const struct stats_seen *seen,
                                   int job, const struct gp_guests *guests)
{
    struct stats_row *row = mem_new(struct stats_row);
    size_t jobs = (size_t)(core->job_count + (guests ? guests->count : 0));
    size_t gpus = (size_t)core->gpu_count, cells = jobs * gpus;

    row->core = core;
    row->seen = seen;
    if (guests)
        row->guests = *guests;
    row->job = job;
    row->jobs = jobs;
    row->room = mem_array(struct pair_sums, 7 * cells + 2 * jobs + 1);
    row->suffers = row->room;
    row->presses = row->suffers + cells;
    row->cells = row->presses + cells;
    row->mirror = row->cells + cells;
    row->family = row->mirror + cells;
    row->kin_presses = row->family + cells;
    row->kin_pair = row->kin_presses + cells;
    row->suffers_all = row->kin_pair + cells;
    row->presses_all = row->suffers_all + jobs;
    row->corunners = mem_array(struct corunner, jobs + 1);
    gpu_means(row);
    for (size_t i = 0; i < seen->count; i++) {
        struct cell cell = seen->cells[i];
        size_t g = (size_t)cell.gpu, a = (size_t)cell.job, k = (size_t)cell.other;
        double residual = seen->values[i] - row->gpu_mean[g];
        double kin = kinship(row, job, cell.job);

        add(&row->suffers[a * gpus + g], residual, 1);
        add(&row->presses[k * gpus + g], residual, 1);
        if (cell.job == job)
            add(&row->cells[g * jobs + k], residual, 1);
        if (cell.other == job && cell.job != job)
            add(&row->mirror[g * jobs + a], residual, 1);
        if (kin > 0)
            add(&row->family[g * jobs + k], residual, kin);
    }
    sum_up(row);
    return row;
}

void stats_row_destroy(struct stats_row *row)
{
    if (!row)
        return;
    free(row->room);
    free(row->corunners);
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
    size_t gpus = (size_t)row->core->gpu_count;
    const struct pair_sums *presses = row->presses + (size_t)kin_job * gpus;
    struct pair_sums *column = row->kin_presses + (size_t)other * gpus;
    struct pair_sums *pair = row->kin_pair + (size_t)other * gpus;

    for (size_t g = 0; g < gpus; g++) {
        add_sums(&column[g], &presses[g], kin);
        add_sums(&pair[g], &row->family[g * row->jobs + (size_t)kin_job], kin);
    }
}

static void make_ready(struct stats_row *row, int other)
{
    size_t gpus = (size_t)row->core->gpu_count, k = (size_t)other;
    struct corunner *it = &row->corunners[k];
    struct pair_sums all = {0, 0};

    for (size_t g = 0; g < gpus; g++) {
        row->kin_pair[k * gpus + g] = row->family[g * row->jobs + k];
        add_sums(&it->cells_all, &row->cells[g * row->jobs + k], 1);
    }
    for (int j = newest_kin(row, other); j >= 0; j = row->core->kin.items[j]) {
        double kin;

        /* What was seen of a pair of families was seen beside one of the second. */
        if (j == other || row->presses_all[j].n <= 0)
            continue;
        kin = kinship(row, other, j);
        add_sums(&all, &row->presses_all[j], kin);
        add_kin(row, other, j, kin);
    }
    it->kin_presses = mean_of(all, 1);
    it->ready = true;
}

static void job_features(const struct stats_row *row, int other, float *x)
{
    const struct job_trait *j = trait_of(row, row->job), *k = trait_of(row, other);

    x[0] = (float)(j->omega - KERNEL_OMEGA_CENTRE);
    x[1] = (float)(k->omega - KERNEL_OMEGA_CENTRE);
    x[2] = (float)(j->beta - BETA_CENTRE);
    x[3] = (float)(k->beta - BETA_CENTRE);
}

struct stats_cell stats_features(struct stats_row *row, int gpu, int other,
                                 bool without_own, float x[STATS_FEATURES])
{
    size_t gpus = (size_t)row->core->gpu_count, g = (size_t)gpu;
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
    const struct corunner *it = &row->corunners[other];

    if (!it->ready)
        make_ready(row, other);
    kin_column = row->kin_presses[at_k];
    pair = without(row->kin_pair[at_k], hidden);
    if (it->cells_all.n > own.n)
        elsewhere = without(it->cells_all, own);
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
    x[29] = it->kin_presses;
    for (int i = 0; i < STATS_FEATURES; i++)
        x[i] = x[i] > CLIP ? CLIP : x[i] < -CLIP ? -CLIP : x[i];
    return (struct stats_cell){
        .base = row->gpu_mean[g] + (double)(x[2] + x[6]) / 4,
        .times = own.n,
    };
}
