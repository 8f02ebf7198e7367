/* train.c - a small network trained with src/nn; reports by heartbeat
 *
 * Learns a noisy function of eight inputs.  Its weights are kept beside the checkpoint,
 * so that training really goes on after a move. */
#include "clients/corgi_heartbeat.h"
#include "example.h"

#include "base/file.h"
#include "base/mem.h"
#include "nn/adam.h"
#include "nn/mlp.h"
#include "nn/weights.h"

#include <math.h>
#include <unistd.h>

#define INPUTS 8
#define BATCH  64

struct model {
    struct params *params;
    struct mlp_batch *batch;
    struct adam *adam;
    struct mlp net;
    struct rng rng;
    nn_real x[BATCH * INPUTS];
    nn_real y[BATCH];
};

static void draw_batch(struct model *model)
{
    for (int i = 0; i < BATCH; i++) {
        double sum = 0.05 * rng_normal(&model->rng);

        for (int j = 0; j < INPUTS; j++) {
            double x = rng_range(&model->rng, -1, 1);

            model->x[i * INPUTS + j] = (nn_real)x;
            sum += sin((j + 1) * x) / (j + 1);
        }
        model->y[i] = (nn_real)sum;
    }
}

static double train_step(struct model *model)
{
    static const nn_real width[BATCH]; /* of 1 that stays: the mean absolute error */
    nn_real by_y[BATCH], ignored[BATCH];
    const nn_real *y;
    double loss;

    draw_batch(model);
    y = mlp_forward(model->batch, model->params, model->x, BATCH);
    loss = mlp_laplace(y, width, model->y, BATCH, by_y, ignored);
    mlp_backward(model->batch, model->params, by_y, NULL);
    adam_step(model->adam, model->params, loss);
    return loss;
}

static void model_init(struct model *model, const struct example_args *args,
                       uint64_t first)
{
    const int widths[] = {INPUTS, args->size, args->size, 1};

    model->params = params_create();
    rng_stream(&model->rng, args->seed, 1 + first); /* other batches than before */
    mlp_init(&model->net, model->params, "net", widths, 4, &model->rng);
    model->batch = mlp_batch_create(&model->net);
    model->adam =
        adam_create(model->params, (struct adam_options){.learning_rate = 1e-3});
}

static void model_fini(struct model *model)
{
    adam_destroy(model->adam);
    mlp_batch_destroy(model->batch);
    params_destroy(model->params);
}

static void weights_path(struct str *path, const struct example_args *args)
{
    str_addf(path, "%s.weights", args->checkpoint);
}

static void keep_weights(const struct model *model, const struct example *example)
{
    struct str path = {0}, bytes = {0};
    struct err err = {0};

    if (!example->args->checkpoint)
        return;
    weights_path(&path, example->args);
    if (!example->stopped)
        unlink(str_text(&path));
    else if (weights_encode(model->params, "", &bytes, &err) < 0 ||
             file_write(str_text(&path), bytes.text, bytes.length, &err) < 0)
        fprintf(stderr, "train: %s\n", err.text);
    str_fini(&bytes);
    str_fini(&path);
}

static void restore_weights(struct model *model, const struct example *example)
{
    struct str path = {0};
    struct err err = {0};
    char *bytes = NULL;
    size_t count;

    if (example->first == 0 || !example->args->checkpoint)
        return;
    weights_path(&path, example->args);
    if (file_read(str_text(&path), WEIGHTS_MAX_BYTES, &bytes, &count, &err) < 0 ||
        weights_decode(model->params, bytes, count, &err) < 0)
        fprintf(stderr, "train: %s\n", err.text);
    free(bytes);
    str_fini(&path);
}

static int run(struct command_call *call)
{
    struct model *model = mem_new(struct model);
    struct example example;
    double last_s = 0, loss = 0;
    int status;

    example_begin(&example, "train", call->args);
    model_init(model, call->args, example.first);
    restore_weights(model, &example);
    corgi_heartbeat("steps=%llu", (unsigned long long)example.step);
    while (example_more(&example)) {
        loss = train_step(model);
        example.step++;
        if (example_every(&last_s, 0.2))
            corgi_heartbeat("steps=%llu", (unsigned long long)example.step);
    }
    corgi_heartbeat("steps=%llu", (unsigned long long)example.step);
    status = example_end(&example);
    keep_weights(model, &example);
    printf("train: loss %.5f after step %llu\n", loss, (unsigned long long)example.step);
    model_fini(model);
    free(model);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("128", "width of the hidden layers"),
    {0},
};

static const struct command train = {
    .name = "example-train",
    .summary = "train a small network; reports by heartbeat",
    .options = options,
    .args_size = sizeof(struct example_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&train, argc, argv);
}
