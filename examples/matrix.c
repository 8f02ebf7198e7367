/* matrix.c - products of square matrices on one thread; prints a bar as tqdm does
 *
 * Repeated squaring with scaling, so that the numbers stay finite and nothing can be left
 * out by the compiler. */
#include "example.h"

#include "base/mem.h"
#include "nn/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void scale_down(float *a, size_t count)
{
    double sum = 0;
    float factor;

    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)a[i];
    factor = sum > 0 ? (float)(sqrt((double)count) / sqrt(sum)) : 1;
    for (size_t i = 0; i < count; i++)
        a[i] *= factor;
}

static void print_clock(char *text, size_t size, double seconds)
{
    int whole = seconds < 359999 ? (int)seconds : 359999;

    if (whole >= 3600)
        snprintf(text, size, "%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, size, "%02d:%02d", whole / 60, whole % 60);
}

/* " 45%|####5     | 450/1000 [00:30<00:37, 14.9it/s]", redrawn in its place */
static void draw_bar(const struct example *example)
{
    double rate = example_rate(example), elapsed_s = example_now_s() - example->started_s;
    unsigned long long step = example->step, total = example->args->steps;
    char elapsed[16], left[16], speed[32];

    print_clock(elapsed, sizeof(elapsed), elapsed_s);
    if (rate >= 1 || rate <= 0)
        snprintf(speed, sizeof(speed), "%.2fit/s", rate);
    else
        snprintf(speed, sizeof(speed), "%.2fs/it", 1 / rate);
    if (total == 0) {
        fprintf(stderr, "\r%lluit [%s, %s]", step, elapsed, speed);
        return;
    }
    print_clock(left, sizeof(left), rate > 0 ? (double)(total - step) / rate : 0);
    fprintf(stderr, "\r%3.0f%%|%-10.*s| %llu/%llu [%s<%s, %s]",
            100.0 * (double)step / (double)total, (int)(10 * step / total), "##########",
            step, total, elapsed, left, speed);
}

static int run(struct command_call *call)
{
    const struct example_args *args = call->args;
    size_t count = (size_t)args->size * (size_t)args->size;
    float *a = mem_array(float, count), *b = mem_array(float, count);
    struct example example;
    double last_s = 0;
    struct rng rng;
    int status;

    rng_init(&rng, args->seed);
    for (size_t i = 0; i < count; i++)
        a[i] = (float)rng_normal(&rng);
    gemm_setup();
    example_begin(&example, "matrix", args);
    while (example_more(&example)) {
        gemm(GEMM_NN, args->size, args->size, args->size, 1, a, a, 0, b);
        scale_down(b, count);
        memcpy(a, b, count * sizeof(float));
        example.step++;
        if (example_every(&last_s, 0.1))
            draw_bar(&example);
    }
    draw_bar(&example);
    status = example_end(&example);
    fprintf(stderr, "\nmatrix: a[0] %g after step %llu\n", (double)a[0],
            (unsigned long long)example.step);
    free(a);
    free(b);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("256", "rows and columns; at most 8192 are sensible"),
    {0},
};

static const struct command matrix = {
    .name = "example-matrix",
    .summary = "multiply matrices; prints a progress bar",
    .options = options,
    .args_size = sizeof(struct example_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&matrix, argc, argv);
}
