/* p1.c - the initial estimate: pairs.c asks it about jobs of which nothing was measured
 * beside others, p2.c adds measurements to what it sees */
#include "model/p1.h"

#include "base/embed.h"
#include "base/mem.h"
#include "nn/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- how far a known job is -------------------------------------------------------- */

static double share_apart(const struct pair_sight *v, int a, int b)
{
    double sum = 0, n = 0;

    for (int g = 0; g < v->gpus; g++) {
        double apart = v->share[a * v->gpus + g] - v->share[b * v->gpus + g];

        if (!isnan(apart)) {
            sum += apart;
            n++;
        }
    }
    return n > 0 ? sum / n : 0;
}

static void fill_alike(const struct pair_sight *v, int known, nn_real *x)
{
    const struct job_trait *a = pair_view_trait(v, known);
    const struct job_trait *b = pair_view_trait(v, v->job);
    const double *pa = v->profile + known * v->gpus, *pb = v->profile + v->job * v->gpus;
    bool family = a->family >= 0 && a->family == b->family;
    bool rated = v->rated[known] && v->rated[v->job];
    double ratios = 0;

    for (int g = 0; rated && g < v->gpus; g++)
        ratios += (pa[g] - pb[g]) * (pa[g] - pb[g]);
    x[0] = family;
    x[1] = p1_clip(family ? fabs(a->beta - b->beta) : 0);
    x[2] = p1_clip(a->beta - b->beta);
    x[3] = p1_clip(a->untold || b->untold ? 0 : a->omega - b->omega);
    x[4] = p1_clip(sqrt(ratios / v->gpus));
    x[5] = p1_clip(rated ? pa[v->slowest] - pb[v->slowest] : 0);
    x[6] = p1_clip(rated ? pa[v->fastest] - pb[v->fastest] : 0);
    x[7] = p1_clip(rated ? v->level[known] - v->level[v->job] : 0);
    x[8] = p1_clip(rated ? share_apart(v, known, v->job) / 2 : 0);
    x[9] = p1_clip(log(v->kin[known]));
}

/* ---- a cell ------------------------------------------------------------------------ */

static double share_input(double share)
{
    return isnan(share) ? 0 : (share + 1) / 2;
}

/* What all cells of the job have in common. */
struct about_job {
    double known, families;
    double doubt[PAIR_KINDS * WORLD_MAX_GPUS]; /* of cells nobody was measured in */
};

static double doubt_of(const struct pair_sight *v, int cell)
{
    return log(pair_moments_var(v, cell)) / 2 + 1.8;
}

static void fill_about(const struct pair_sight *v, const struct about_job *all, int cell,
                       nn_real *x)
{
    int kind = cell / (v->gpus * v->jobs), g = cell / v->jobs % v->gpus;
    int k = cell % v->jobs;
    const struct job_trait *job = pair_view_trait(v, v->job);
    const struct job_trait *other = pair_view_trait(v, k);
    double presses = v->centre[pair_view_cell(v, PAIR_OWN, g, k)] - v->mean[g];
    double suffers = v->centre[pair_view_cell(v, PAIR_EFFECT, g, k)] - v->mean[g];

    x[0] = p1_clip(4 * (v->centre[cell] - v->mean[g]));
    x[1] = p1_clip(2 * v->mean[g]);
    x[2] = p1_clip(5 * v->spread[cell]);
    x[3] = p1_clip(4 * presses);
    x[4] = p1_clip(4 * suffers);
    x[5] = p1_clip(4 * v->self[g * v->jobs + k]);
    x[6] = (nn_real)kind;
    x[7] = p1_clip(v->from->gpus[g].speed);
    x[8] = p1_clip(v->from->gpus[g].bandwidth / 0.8);
    x[9] = p1_clip(v->profile[v->job * v->gpus + g]);
    x[10] = p1_clip(v->level[v->job]);
    x[11] = p1_clip(v->profile[k * v->gpus + g]);
    x[12] = p1_clip(v->level[k]);
    x[13] = p1_clip(job->untold || other->untold ? 0 : other->omega - job->omega);
    x[14] = p1_clip(other->beta - job->beta);
    x[15] = k == v->job || (other->family >= 0 && other->family == job->family);
    x[16] = p1_clip(share_input(v->share[v->job * v->gpus + g]));
    x[17] = p1_clip(share_input(v->share[k * v->gpus + g]));
    x[18] = p1_clip(v->gpus / 3.0);
    x[19] = p1_clip(all->known);
    x[20] = p1_clip(all->families);
    x[25] = p1_clip(v->square[cell] > 0 ? doubt_of(v, cell) : all->doubt[cell / v->jobs]);
}

/* Residuals of the asked cells, by the number of their job among the known ones. */
static void take_residuals(const struct pair_sight *v, const int *cells, size_t count,
                           struct attention_case *out)
{
    int *number = mem_array(int, (size_t)v->jobs + 1);
    int *slot = mem_array(int, v->cells + 1); /* one more than the place; 0: not asked */

    for (int i = 0; i < v->known_count; i++)
        number[v->known[i]] = i;
    for (size_t q = 0; q < count; q++)
        slot[cells[q]] = (int)q + 1;
    /* Room for P2's too: a cell is shown at most once. */
    out->residuals = mem_array(struct attention_residual, 2 * v->residual_count + 1);
    for (size_t i = 0; i < v->residual_count; i++) {
        const struct pair_residual *r = &v->residuals[i];

        if (slot[r->cell] > 0)
            out->residuals[out->residual_count++] = (struct attention_residual){
                number[r->job], slot[r->cell] - 1, (nn_real)r->value};
    }
    free(number);
    free(slot);
}

void p1_case(const struct pair_sight *v, const int *cells, size_t count,
             struct attention_case *out)
{
    struct about_job all = {.known = log(fmax(v->known_count, 1)) / 3,
                            .families = log(fmax(v->families, 1)) / 2};

    for (int t = 0; t < PAIR_KINDS * v->gpus; t++)
        for (int k = v->jobs - 1; k >= 0; k--)
            if (!(v->square[t * v->jobs + k] > 0)) {
                all.doubt[t] = doubt_of(v, t * v->jobs + k);
                break;
            }
    *out = (struct attention_case){
        .known = v->known_count,
        .cells = (int)count,
        .alike = mem_array(nn_real, (size_t)v->known_count * ATTENTION_ALIKE + 1),
        .about = mem_array(nn_real, count * ATTENTION_ABOUT + 1),
        .centre = mem_array(nn_real, count + 1),
    };
    for (int i = 0; i < v->known_count; i++)
        fill_alike(v, v->known[i], out->alike + (size_t)i * ATTENTION_ALIKE);
    for (size_t q = 0; q < count; q++) {
        fill_about(v, &all, cells[q], out->about + q * ATTENTION_ABOUT);
        out->centre[q] = (nn_real)v->centre[cells[q]];
    }
    take_residuals(v, cells, count, out);
}

void p1_answer(const struct attention *net, const struct pair_sight *v, const int *cells,
               size_t count, struct attention_guess *out)
{
    struct attention_case c;

    p1_case(v, cells, count, &c);
    attention_answer(net, &c, out);
    attention_case_fini(&c);
}

/* ---- the weights inside the binary ------------------------------------------------- */

EMBED(shipped_p1, CORGI_WEIGHTS_DIR "/p1.bin");
EMBED(shipped_p1_gru, CORGI_WEIGHTS_DIR "/p1-gru.bin");
EMBED(shipped_p1_transformer, CORGI_WEIGHTS_DIR "/p1-transformer.bin");

struct attention *p1_unpack(const char *name, enum set_reader_kind kind,
                            struct p1_weights weights)
{
    struct attention *net;
    struct err err = {0};
    struct rng rng;

    rng_init(&rng, 1);
    net = attention_create(name, kind, &rng);
    if (weights_decode(net->params, weights.bytes, (size_t)(weights.end - weights.bytes),
                       &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of %s: %s\n", name, err.text);
        abort();
    }
    attention_repack(net);
    return net;
}

struct attention *p1_shipped(enum set_reader_kind kind)
{
    const struct p1_weights all[SET_READER_KINDS] = {
        [SET_READER_FF] = {shipped_p1, shipped_p1_end},
        [SET_READER_GRU] = {shipped_p1_gru, shipped_p1_gru_end},
        [SET_READER_TRANSFORMER] = {shipped_p1_transformer, shipped_p1_transformer_end},
    };

    return p1_unpack("p1", kind, all[kind]);
}
