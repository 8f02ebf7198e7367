/* stream.c - a job the memory limits: sums over arrays larger than any cache
 *
 * Keeps its count in a progress file. */
#include "example.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

struct arrays {
    double *a, *b, *c;
    size_t count;
};

static void triad(struct arrays *arrays, double factor)
{
    for (size_t i = 0; i < arrays->count; i++)
        arrays->a[i] = 0.5 * (arrays->b[i] + factor * arrays->c[i]);
}

/* Not synced: a progress file is worth nothing after a crash of the machine. */
static void write_progress(const struct example *example)
{
    const char *path = example->args->progress;
    FILE *f = path ? fopen(path, "we") : NULL;

    if (f) {
        fprintf(f, "%llu\n", (unsigned long long)example->step);
        fclose(f);
    }
}

static int run(struct command_call *call)
{
    const struct example_args *args = call->args;
    struct arrays arrays = {.count = (size_t)args->size * 1024 * 1024 / sizeof(double)};
    struct example example;
    double last_s = 0;
    double *swap;
    struct rng rng;
    int status;

    arrays.a = mem_array(double, arrays.count);
    arrays.b = mem_array(double, arrays.count);
    arrays.c = mem_array(double, arrays.count);
    rng_init(&rng, args->seed);
    for (size_t i = 0; i < arrays.count; i++) {
        arrays.b[i] = rng_uniform(&rng);
        arrays.c[i] = 1 - arrays.b[i];
    }
    example_begin(&example, "stream", args);
    while (example_more(&example)) {
        triad(&arrays, 1.0);
        swap = arrays.a;
        arrays.a = arrays.b;
        arrays.b = swap;
        example.step++;
        if (example_every(&last_s, 0.1))
            write_progress(&example);
    }
    write_progress(&example);
    status = example_end(&example);
    printf("stream: b[0] %g after step %llu\n", arrays.b[0],
           (unsigned long long)example.step);
    free(arrays.a);
    free(arrays.b);
    free(arrays.c);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("16", "megabytes of each of the three arrays"),
    {.name = "progress",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct example_args, progress),
     .help = "keep the count of steps there"},
    {0},
};

static const struct command stream = {
    .name = "example-stream",
    .summary = "stream through memory; keeps a progress file",
    .options = options,
    .args_size = sizeof(struct example_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&stream, argc, argv);
}
