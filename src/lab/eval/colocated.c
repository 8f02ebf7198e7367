/* colocated.c - the protocol of pairs: eval.c runs it fold by fold and gets errors a
 * method */
#include "lab/eval/protocols.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

#define DRAWS 10

static const int shown_counts[] = {0, 1, 2, 3, 10};
enum { COUNTS = sizeof(shown_counts) / sizeof(shown_counts[0]) };

/* Relative error punishes a guess above the truth more, and the product's point knows it:
 * a baseline's is moved down by whatever does best inside the catalogue. */
#define SHIFTS      9
#define SHIFT_STEP  0.03
#define TUNED_FOLDS 4

struct point_shift {
    double by[2][COUNTS]; /* own and effect, by number shown */
};

struct colocated_run {
    const struct fold *fold;
    const struct method *method;
    void *state;
    struct guess *guesses; /* (2 * fold_half) */
    size_t *known;         /* (fold_half) */
    struct results *results;
    struct point_shift shift;
};

static void one_draw(struct colocated_run *run, int job, size_t known, size_t shown,
                     bool effect, double shift, int seed)
{
    struct score *score = results_score(run->results, effect ? "effect" : "own", NULL,
                                        run->method->name, (int)shown);
    size_t half = fold_half(run->fold);
    size_t *seen = mem_array(size_t, 2 * shown + 1);
    size_t count = fold_show(run->fold, run->known, shown, effect, seen);

    run->method->predict(run->state, job, seen, count, effect, run->guesses);
    for (size_t i = shown; i < known; i++) {
        size_t cell = run->known[i] + (effect ? half : 0);

        run->guesses[cell].mid -= shift;
        score_add(score, seed, run->guesses[cell], fold_value(run->fold, job, cell));
    }
    free(seen);
}

/* Every method sees the same draws: they depend on seed, job and count alone. */
static void run_job(struct colocated_run *run, int job, int seed, uint64_t stream)
{
    for (size_t c = 0; c < COUNTS; c++) {
        size_t shown = (size_t)shown_counts[c];
        size_t known = fold_known(run->fold, job, run->known);
        struct rng rng;

        if (known <= shown)
            continue;
        rng_stream(&rng, stream, (uint64_t)job * 16 + c);
        for (int d = 0; d < (shown ? DRAWS : 1); d++) {
            fold_draw(&rng, run->known, known, shown);
            one_draw(run, job, known, shown, false, run->shift.by[0][c], seed);
            one_draw(run, job, known, shown, true, run->shift.by[1][c], seed);
        }
    }
}

/* Errors of one guess under every shift. */
static void try_shifts(double guess, double truth, double errors[SHIFTS])
{
    for (int s = 0; s < SHIFTS; s++)
        errors[s] += fabs(expm1(guess - s * SHIFT_STEP - truth));
}

static void tune_job(struct colocated_run *run, int job, uint64_t seed,
                     double errors[2][COUNTS][SHIFTS])
{
    size_t half = fold_half(run->fold);

    for (size_t c = 0; c < COUNTS; c++) {
        size_t shown = (size_t)shown_counts[c], seen[2 * 10];
        size_t known = fold_known(run->fold, job, run->known);
        struct rng rng;

        if (known <= shown)
            continue;
        rng_stream(&rng, seed, 700 + (uint64_t)job * 16 + c);
        fold_draw(&rng, run->known, known, shown);
        for (int effect = 0; effect < 2; effect++) {
            size_t count = fold_show(run->fold, run->known, shown, effect, seen);

            run->method->predict(run->state, job, seen, count, effect, run->guesses);
            for (size_t i = shown; i < known; i++) {
                size_t cell = run->known[i] + (effect ? half : 0);

                try_shifts(run->guesses[cell].mid, fold_value(run->fold, job, cell),
                           errors[effect][c]);
            }
        }
    }
}

static struct point_shift tune(const struct fold *fold, const struct method *method)
{
    double errors[2][COUNTS][SHIFTS] = {{{0}}};
    struct point_shift best = {{{0}}};
    int step = fold->train_count / TUNED_FOLDS + 1;

    for (int at = 0; at < fold->train_count; at += step) {
        struct fold inner;
        struct colocated_run run = {.fold = &inner, .method = method};

        fold_inner(fold, at, &inner);
        if (inner.train_count > 0) {
            run.state = method->fit(&inner, method->name);
            run.guesses = mem_array(struct guess, 2 * fold_half(&inner) + 1);
            run.known = mem_array(size_t, fold_half(&inner) + 1);
            for (int t = 0; t < inner.test_count; t++)
                tune_job(&run, inner.test[t], fold->seed, errors);
            method->destroy(run.state);
            free(run.guesses);
            free(run.known);
        }
        fold_fini(&inner);
    }
    for (int effect = 0; effect < 2; effect++)
        for (int c = 0; c < COUNTS; c++) {
            int least = 0;

            for (int s = 1; s < SHIFTS; s++)
                if (errors[effect][c][s] < errors[effect][c][least])
                    least = s;
            best.by[effect][c] = least * SHIFT_STEP;
        }
    return best;
}

static void run_fold(const struct fold *fold, const struct method *method, uint64_t seed,
                     int seeds, struct results *results)
{
    size_t half = fold_half(fold);
    struct colocated_run run = {.fold = fold, .method = method, .results = results};

    if (str_starts(method->name, "baseline:"))
        run.shift = tune(fold, method);
    run.state = method->fit(fold, method->name);
    run.guesses = mem_array(struct guess, 2 * half + 1);
    run.known = mem_array(size_t, half + 1);
    for (int t = 0; t < fold->test_count; t++)
        for (int s = 0; s < seeds; s++)
            run_job(&run, fold->test[t], s, seed + (uint64_t)s);
    method->destroy(run.state);
    free(run.guesses);
    free(run.known);
}

void colocated_run(const struct measured *table, enum fold_split split,
                   const struct method *methods, uint64_t seed, int seeds,
                   struct results *results)
{
    size_t count, method_count = 0, done = 0;
    struct fold *folds = fold_all(table, split, seed, &count);

    while (methods[method_count].name)
        method_count++;
    for (const struct method *m = methods; m->name; m++)
        for (size_t f = 0; f < count; f++, done++) {
            results_progress(results, (double)done / (double)(count * method_count));
            if (folds[f].train_count > 0)
                run_fold(&folds[f], m, seed, seeds, results);
        }
    fold_free(folds, count);
}
