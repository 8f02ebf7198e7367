/* silent.c - a job that says nothing: sorts numbers until it is done
 *
 * The probe can tell only that it is busy. */
#include "example.h"

#include "base/mem.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int run(struct command_call *call)
{
    const struct example_args *args = call->args;
    uint64_t *numbers = mem_array(uint64_t, (size_t)args->size);
    struct example example;
    struct rng rng;

    rng_init(&rng, args->seed);
    example_begin(&example, "silent", args);
    while (example_more(&example)) {
        for (int i = 0; i < args->size; i++)
            numbers[i] = rng_u64(&rng);
        qsort(numbers, (size_t)args->size, sizeof(numbers[0]), compare);
        example.step++;
    }
    free(numbers);
    return example_end(&example);
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("20000", "numbers to sort in a step"),
    {0},
};

static const struct command silent = {
    .name = "example-silent",
    .summary = "sort numbers; reports nothing",
    .options = options,
    .args_size = sizeof(struct example_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&silent, argc, argv);
}
