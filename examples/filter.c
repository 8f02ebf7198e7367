/* filter.c - the convolutions of a small image network; prints its steps/s in a log
 *
 * Each step filters an image with eight 3x3 kernels and takes the mean of what is
 * positive, layer after layer. */
#include "example.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 8

struct image {
    float *in, *out; /* (size, size) */
    float kernels[CHANNELS][9];
    int size;
};

static void filter_row(const struct image *image, const float *kernel, int y)
{
    const int size = image->size;

    for (int x = 1; x + 1 < size; x++) {
        float sum = 0;

        for (int dy = -1; dy <= 1; dy++) {
            const float *row = image->in + (y + dy) * size + x - 1;
            const float *k = kernel + (dy + 1) * 3;

            sum += row[0] * k[0] + row[1] * k[1] + row[2] * k[2];
        }
        image->out[y * size + x] += sum > 0 ? sum : 0;
    }
}

/* Scaled back to a mean of 1, so that hundreds of layers neither vanish nor overflow. */
static double normalize(struct image *image)
{
    size_t count = (size_t)image->size * (size_t)image->size;
    double sum = 0;
    float factor;

    for (size_t i = 0; i < count; i++)
        sum += (double)image->out[i];
    factor = sum > 0 ? (float)((double)count / sum) : 0;
    for (size_t i = 0; i < count; i++)
        image->in[i] = 0.5f * (image->in[i] + image->out[i] * factor);
    return sum / (double)count;
}

static double filter_step(struct image *image)
{
    memset(image->out, 0, (size_t)image->size * (size_t)image->size * sizeof(float));
    for (int c = 0; c < CHANNELS; c++)
        for (int y = 1; y + 1 < image->size; y++)
            filter_row(image, image->kernels[c], y);
    return normalize(image);
}

static void image_init(struct image *image, const struct example_args *args)
{
    size_t count = (size_t)args->size * (size_t)args->size;
    struct rng rng;

    rng_init(&rng, args->seed);
    image->size = args->size;
    image->in = mem_array(float, count);
    image->out = mem_array(float, count);
    for (size_t i = 0; i < count; i++)
        image->in[i] = (float)rng_uniform(&rng);
    for (int c = 0; c < CHANNELS; c++)
        for (int k = 0; k < 9; k++)
            image->kernels[c][k] = (float)(0.2 + 0.3 * rng_normal(&rng));
}

static int run(struct command_call *call)
{
    struct example example;
    struct image image;
    double last_s = example_now_s(), mean = 0;
    uint64_t last_step;
    int status;

    image_init(&image, call->args);
    example_begin(&example, "filter", call->args);
    last_step = example.step;
    while (example_more(&example)) {
        double before_s = last_s;

        mean = filter_step(&image);
        example.step++;
        if (example_every(&last_s, 0.5)) {
            printf("[filter] step %llu mean %.4f %.2f steps/s\n",
                   (unsigned long long)example.step, mean,
                   (double)(example.step - last_step) / (last_s - before_s));
            fflush(stdout);
            last_step = example.step;
        }
    }
    status = example_end(&example);
    printf("filter: mean %.4f after step %llu\n", mean, (unsigned long long)example.step);
    free(image.in);
    free(image.out);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("256", "rows and columns of the image"),
    {0},
};

static const struct command filter = {
    .name = "example-filter",
    .summary = "filter images; prints a log with steps/s",
    .options = options,
    .args_size = sizeof(struct example_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&filter, argc, argv);
}
