/* eval_online.c - the online protocol: eval.c runs it; measurements come one by one,
 * errors are taken on the way */
#include "lab/eval/protocols.h"

#include "base/mem.h"
#include "lab/eval/arrival_stream.h"
#include "model/pairs.h"
#include "model/running.h"

#include <math.h>
#include <stdlib.h>

static const int marks[] = {0, 5, 10, 20, 40, 80, 150, 300};
enum { MARKS = sizeof(marks) / sizeof(marks[0]) };

struct online_run {
    const struct measured *table;
    struct results *results;
    int seed, seeds;
    struct cell *cells; /* (count) all cells that were ever measured in the table */
    double *truth;
    double *sum, *times; /* (count) of the stream's measurements of each, */
    struct drift *drift; /* (count) and its value as the product follows it */
    size_t count;
    struct pairs *pairs;
};

static void list_cells(struct online_run *run)
{
    const struct measured *t = run->table;
    size_t room = (size_t)t->jobs * (size_t)t->jobs * (size_t)t->gpus;

    run->cells = mem_array(struct cell, room + 1);
    run->truth = mem_array(double, room + 1);
    run->sum = mem_array(double, room + 1);
    run->times = mem_array(double, room + 1);
    run->drift = mem_array(struct drift, room + 1);
    for (int j = 0; j < t->jobs; j++)
        for (int g = 0; g < t->gpus; g++)
            for (int k = 0; k < t->jobs; k++)
                if (!isnan(measured_pair(t, j, g, k))) {
                    run->cells[run->count] = (struct cell){j, g, k};
                    run->truth[run->count++] = measured_pair(t, j, g, k);
                }
}

static void remember(struct online_run *run, bool product, struct cell cell, double value)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->cells[i].job == cell.job && run->cells[i].gpu == cell.gpu &&
            run->cells[i].other == cell.other) {
            run->sum[i] += value;
            run->times[i]++;
            drift_push(&run->drift[i], value);
            if (product)
                pairs_put(run->pairs, cell, run->drift[i].mean, 0);
        }
}

static void score(struct online_run *run, const char *method, int mark, size_t i,
                  struct guess guess)
{
    score_add(results_score(run->results, NULL, "all", method, mark), run->seed, guess,
              run->truth[i]);
    if (run->times[i] <= 0)
        score_add(results_score(run->results, NULL, "unseen", method, mark), run->seed,
                  guess, run->truth[i]);
}

/* GPU and column means with remembered cells, and a fair time share. */
static void score_baselines(struct online_run *run, int mark)
{
    const struct measured *t = run->table;
    size_t columns = (size_t)t->gpus * (size_t)t->jobs;
    double prior = log(0.5);
    double *gpu = mem_array(double, 2 * (size_t)t->gpus + 1);
    double *column = mem_array(double, 2 * columns + 1);

    for (size_t i = 0; i < run->count; i++) {
        size_t g = (size_t)run->cells[i].gpu;
        size_t c = g * (size_t)t->jobs + (size_t)run->cells[i].other;

        gpu[2 * g] += run->sum[i];
        gpu[2 * g + 1] += run->times[i];
        column[2 * c] += run->sum[i];
        column[2 * c + 1] += run->times[i];
    }
    for (size_t i = 0; i < run->count; i++) {
        size_t g = (size_t)run->cells[i].gpu;
        size_t c = g * (size_t)t->jobs + (size_t)run->cells[i].other;
        double of_gpu = (gpu[2 * g] + 2 * prior) / (gpu[2 * g + 1] + 2);
        double of_column = (column[2 * c] + of_gpu) / (column[2 * c + 1] + 1);
        double known = run->times[i] > 0 ? run->sum[i] / run->times[i] : NAN;

        score(run, "baseline:constant", mark, i, (struct guess){prior, NAN, NAN});
        score(run, "baseline:gpu-mean", mark, i,
              (struct guess){isnan(known) ? of_gpu : known, NAN, NAN});
        score(run, "baseline:column-mean", mark, i,
              (struct guess){isnan(known) ? of_column : known, NAN, NAN});
    }
    free(gpu);
    free(column);
}

static void score_product(struct online_run *run, int mark)
{
    struct pairs_guess *guesses = mem_array(struct pairs_guess, run->count + 1);
    static const struct {
        const char *name;
        unsigned without;
    } variants[] = {{"blend", 0},
                    {"core", ~(1u << BLEND_CORE)},
                    {"without networks", 1u << BLEND_NETWORK}};

    for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
        run->pairs->without = variants[v].without;
        pairs_predict(run->pairs, run->cells, run->count, guesses);
        for (size_t i = 0; i < run->count; i++)
            score(run, variants[v].name, mark, i,
                  (struct guess){guesses[i].mean, guesses[i].low, guesses[i].high});
    }
    run->pairs->without = 0;
    free(guesses);
}

static void play(struct online_run *run, bool product,
                 const struct arrival_stream *stream)
{
    size_t at = 0;

    for (int m = 0; m < MARKS; m++) {
        results_progress(run->results, (run->seed + (double)m / MARKS) / run->seeds);
        for (; at < stream->count && stream->arrival[at] < marks[m]; at++)
            remember(run, product, stream->cells[at], stream->values[at]);
        score_baselines(run, marks[m]);
        if (product) {
            pairs_settle(run->pairs);
            eval_pairs_study(run->pairs, (uint64_t)run->seed);
            score_product(run, marks[m]);
        }
    }
}

static void run_stream(const struct measured *table, bool product, uint64_t seed,
                       int number, int seeds, struct results *results)
{
    struct online_run run = {
        .table = table, .results = results, .seed = number, .seeds = seeds};
    struct arrival_stream *stream;
    struct rng rng;

    rng_stream(&rng, seed, 300 + (uint64_t)number);
    stream = arrival_stream_create(table, marks[MARKS - 1], &rng);
    list_cells(&run);
    run.pairs = eval_pairs_create(table);
    play(&run, product, stream);
    pairs_destroy(run.pairs);
    arrival_stream_destroy(stream);
    free(run.cells);
    free(run.truth);
    free(run.sum);
    free(run.times);
    free(run.drift);
}

void online_run(const struct measured *table, bool product, uint64_t seed, int seeds,
                struct results *results)
{
    for (int s = 0; s < seeds; s++)
        run_stream(table, product, seed, s, seeds, results);
}
