/* pairs_bytes.c - what was learned of pairs, for checkpoints and for workers */
#include "loop/refine/pairs_bytes.h"

#include "base/mem.h"
#include "base/str.h"
#include "loop/refine/pairs_state.h"
#include "nn/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_jobs(const struct pairs *p, struct bytes_out *out)
{
    struct kernel_space space = core_space(p->core);
    int count = core_job_count(p->core), kept = 0;

    for (int j = 0; j < count; j++)
        kept += bytes_class(out, j) >= 0;
    bytes_put_u64(out, (uint64_t)kept);
    for (int j = 0; j < count; j++)
        if (bytes_class(out, j) >= 0) {
            bytes_put_u64(out, (uint64_t)space.jobs[j].family);
            bytes_put_real(out, space.jobs[j].beta);
            bytes_put_real(out, space.jobs[j].omega);
            bytes_put_u64(out, space.jobs[j].untold != 0);
        }
}

static bool kept(const struct bytes_out *out, struct cell cell)
{
    return bytes_class(out, cell.job) >= 0 && bytes_class(out, cell.other) >= 0;
}

static void put_observations(const struct pairs *p, struct bytes_out *out)
{
    size_t n = core_count(p->core), count = 0;

    for (size_t i = 0; i < n; i++)
        count += kept(out, core_cell(p->core, i));
    bytes_put_u64(out, count);
    for (size_t i = 0; i < n; i++) {
        struct cell cell = core_cell(p->core, i);
        const struct pairs_memory *m = &p->memory[i];

        if (!kept(out, cell))
            continue;
        bytes_put_u64(out, (uint64_t)bytes_class(out, cell.job));
        bytes_put_u64(out, (uint64_t)cell.gpu);
        bytes_put_u64(out, (uint64_t)bytes_class(out, cell.other));
        bytes_put_real(out, m->drift.mean);
        bytes_put_real(out, m->drift.times);
        bytes_put_real(out, m->extra_var);
        bytes_put_u64(out, m->stamp);
    }
}

static void put_network(const struct pairs *p, struct bytes_out *out)
{
    struct str blob = {0};
    struct err err = {0};

    /* A network that is not finite is not worth keeping: the shipped one then stays. */
    if (weights_encode(statnet_params(p->refined), "", &blob, &err) < 0)
        str_clear(&blob);
    bytes_put_u64(out, blob.length);
    bytes_put(out, str_text(&blob), blob.length);
    str_fini(&blob);
}

void pairs_write(const struct pairs *p, struct bytes_out *out)
{
    put_jobs(p, out);
    bytes_put_reals(out, core_params(p->core)->v, KERNEL_PARAM_COUNT);
    put_observations(p, out);
    bytes_put_real(out, p->weights.net);
    bytes_put_real(out, p->weights.trees);
    bytes_put_real(out, p->width);
    bytes_put_u64(out, p->stamp);
    put_network(p, out);
    bytes_put_u64(out, p->trees != NULL);
    if (p->trees)
        gbt_write(p->trees, out);
}

static void get_jobs(struct pairs *p, struct bytes_in *in)
{
    size_t count = bytes_count(in, PAIRS_MAX_JOBS, 32);

    for (size_t j = 0; j < count; j++) {
        struct job_trait trait = {.family = bytes_int(in, -1, PAIRS_MAX_JOBS)};

        trait.beta = bytes_log(in);
        trait.omega = bytes_log(in);
        trait.untold = bytes_int(in, 0, 1);
        pairs_add_job(p, &trait);
    }
}

static void get_observations(struct pairs *p, struct bytes_in *in)
{
    size_t n = bytes_count(in, PAIRS_MAX, 56);
    int jobs = core_job_count(p->core), gpus = core_gpu_count(p->core);
    struct cell *cells = mem_array(struct cell, n + 1);
    double *values = mem_array(double, n + 1), *extra = mem_array(double, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct pairs_memory *m = &p->memory[i];

        cells[i].job = bytes_int(in, 0, jobs - 1);
        cells[i].gpu = bytes_int(in, 0, gpus - 1);
        cells[i].other = bytes_int(in, 0, jobs - 1);
        values[i] = m->drift.mean = bytes_log(in);
        m->drift.times = bytes_real(in);
        extra[i] = m->extra_var = fmax(bytes_real(in), 0);
        m->stamp = bytes_u64(in);
        map_put(p->index, pairs_key(cells[i]), i);
    }
    if (!in->bad && n > 0) {
        core_load(p->core, cells, values, n);
        core_revise_all(p->core, values, extra);
    }
    free(cells);
    free(values);
    free(extra);
}

static void get_network(struct pairs *p, struct bytes_in *in)
{
    size_t size = bytes_count(in, WEIGHTS_MAX_BYTES, 1);
    struct err err = {0};

    if (in->bad || size == 0)
        return;
    if (weights_decode(statnet_params(p->refined), in->at, size, NULL, &err) < 0)
        in->bad = true;
    in->at += size;
    in->left -= size;
    statnet_repack(p->refined);
}

void pairs_read(struct pairs *p, struct bytes_in *in)
{
    struct kernel_params params;

    get_jobs(p, in);
    for (int i = 0; i < KERNEL_PARAM_COUNT; i++)
        params.v[i] = bytes_log(in);
    if (!in->bad)
        core_set_params(p->core, &params);
    get_observations(p, in);
    p->weights.net = fmin(fmax(bytes_real(in), 0), 1);
    p->weights.trees = fmin(fmax(bytes_real(in), 0), 1 - p->weights.net);
    p->width = fmax(bytes_real(in), 0.1);
    p->stamp = bytes_u64(in);
    get_network(p, in);
    if (bytes_int(in, 0, 1)) {
        gbt_destroy(p->trees);
        p->trees = gbt_read(in, STATS_FEATURES);
    }
    p->version++;
}

struct pairs *pairs_dup(struct pairs *p)
{
    struct pairs *copy;

    pairs_settle(p);
    copy = mem_dup(p, 1, sizeof(*p));
    copy->core = core_dup(p->core);
    copy->stats = stats_dup(p->stats);
    copy->initial = statnet_dup(p->initial);
    copy->refined = statnet_dup(p->refined);
    copy->trees = p->trees ? gbt_dup(p->trees) : NULL;
    copy->index = map_create();
    for (size_t i = 0; i < core_count(p->core); i++)
        map_put(copy->index, pairs_key(core_cell(p->core, i)), i);
    copy->memory = mem_dup(p->memory, PAIRS_MAX, sizeof(*p->memory));
    copy->idle.items = mem_dup(p->idle.items, p->idle.capacity, sizeof(*p->idle.items));
    return copy;
}

void pairs_take(struct pairs *p, struct pairs *learned)
{
    struct statnet *net = p->refined;
    struct gbt *trees = p->trees;

    core_set_params(p->core, core_params(learned->core));
    p->refined = learned->refined;
    learned->refined = net;
    p->trees = learned->trees;
    learned->trees = trees;
    p->weights = learned->weights;
    p->width = learned->width;
    p->stale = true;
    p->version++;
    pairs_destroy(learned);
}
