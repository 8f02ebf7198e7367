/* p2.c - the refinement: pairs.c asks it about jobs of which something was measured
 * beside others */
#include "model/p2.h"

#include "base/embed.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct away { /* of a known job from what was measured of this one, by kind */
    double square[PAIR_KINDS], sum[PAIR_KINDS], count[PAIR_KINDS];
};

static int kind_of(const struct pair_sight *v, int cell)
{
    return cell / (v->gpus * v->jobs);
}

/* Of each cell of the view one more than which of the shown it is; 0: none.  The caller
 * frees it. */
static int *shown_slots(const struct pair_sight *v)
{
    int *slot = mem_array(int, v->cells + 1);

    for (int o = 0; o < v->shown; o++)
        slot[v->shown_cells[o]] = o + 1;
    return slot;
}

static void fill_alike(const struct pair_sight *v, struct attention_case *out)
{
    struct away *away = mem_array(struct away, (size_t)v->jobs + 1);
    int shown[PAIR_KINDS] = {0}, *slot = shown_slots(v);

    for (int o = 0; o < v->shown; o++)
        shown[kind_of(v, v->shown_cells[o])]++;
    for (size_t i = 0; i < v->residual_count; i++) {
        const struct pair_residual *r = &v->residuals[i];
        int kind = kind_of(v, r->cell);
        double apart;

        if (slot[r->cell] == 0)
            continue;
        apart = (double)r->value - v->shown_error[slot[r->cell] - 1];
        away[r->job].square[kind] += apart * apart;
        away[r->job].sum[kind] += apart;
        away[r->job].count[kind]++;
    }
    free(slot);
    for (int i = 0; i < v->known_count; i++) {
        nn_real *x = out->alike + (size_t)i * ATTENTION_ALIKE + P1_ALIKE;
        const struct away *a = &away[v->known[i]];

        for (int kind = 0; kind < PAIR_KINDS; kind++) {
            double n = fmax(a->count[kind], 1);

            if (shown[kind] > 0) {
                x[2 * kind] = p1_clip(3 * sqrt(a->square[kind] / n + 0.01));
                x[2 * kind + 1] = p1_clip(3 * a->sum[kind] / n);
            }
            x[4 + kind] = p1_clip(log1p(shown[kind]) / 2);
        }
    }
    free(away);
}

struct shrunk { /* mean of some errors, shrunk to 0 */
    double sum, n;
};

static double mean_of(const struct shrunk *s)
{
    return s->sum / (s->n + 1);
}

static void fill_about(const struct pair_sight *v, const int *cells, size_t count,
                       const double *var, struct attention_case *out)
{
    struct shrunk all[PAIR_KINDS] = {{0}}, here[PAIR_KINDS][WORLD_MAX_GPUS] = {{{0}}};

    for (int o = 0; o < v->shown; o++) {
        int kind = kind_of(v, v->shown_cells[o]);
        struct shrunk *at = &here[kind][v->shown_cells[o] / v->jobs % v->gpus];

        all[kind].sum += v->shown_error[o];
        all[kind].n++;
        at->sum += v->shown_error[o];
        at->n++;
    }
    for (size_t q = 0; q < count; q++) {
        nn_real *x = out->about + q * ATTENTION_ABOUT + P1_ABOUT;

        x[0] = p1_clip(4 * mean_of(&all[PAIR_OWN]));
        x[1] = p1_clip(4 * mean_of(&all[PAIR_EFFECT]));
        x[2] = p1_clip(
            4 * mean_of(&here[kind_of(v, cells[q])][cells[q] / v->jobs % v->gpus]));
        x[3] = p1_clip(log1p(v->shown) / 2);
        x[4] = p1_clip(log(var[q]) / 2 + 1.8);
    }
}

/* Residuals of known jobs in the cells that were shown. */
static void take_shown(const struct pair_sight *v, struct attention_case *out)
{
    int *number = mem_array(int, (size_t)v->jobs + 1), *slot = shown_slots(v);

    for (int i = 0; i < v->known_count; i++)
        number[v->known[i]] = i;
    for (size_t i = 0; i < v->residual_count; i++) {
        int at = slot[v->residuals[i].cell];

        if (at > 0)
            out->residuals[out->residual_count++] = (struct attention_residual){
                number[v->residuals[i].job], out->cells + at - 1,
                (nn_real)v->residuals[i].value};
    }
    free(number);
    free(slot);
}

void p2_case(const struct pair_sight *v, const int *cells, size_t count,
             struct attention_case *out)
{
    size_t shown = (size_t)v->shown;
    double *weights = mem_array(double, count *shown + 1);
    double *var = mem_array(double, count + 1);

    p1_case(v, cells, count, out);
    pair_moments_update(v, cells, count, weights, var);
    out->shown = v->shown;
    out->error = mem_array(nn_real, shown + 1);
    out->update = mem_array(nn_real, count * shown + 1);
    for (size_t o = 0; o < shown; o++)
        out->error[o] = (nn_real)v->shown_error[o];
    for (size_t i = 0; i < count * shown; i++)
        out->update[i] = (nn_real)weights[i];
    fill_alike(v, out);
    fill_about(v, cells, count, var, out);
    take_shown(v, out);
    free(weights);
    free(var);
}

void p2_answer(const struct attention *net, const struct pair_sight *v, const int *cells,
               size_t count, struct attention_guess *out)
{
    struct attention_case c;

    p2_case(v, cells, count, &c);
    attention_answer(net, &c, out);
    attention_case_fini(&c);
}

EMBED(shipped_p2, CORGI_WEIGHTS_DIR "/p2.bin");
EMBED(shipped_p2_gru, CORGI_WEIGHTS_DIR "/p2-gru.bin");
EMBED(shipped_p2_transformer, CORGI_WEIGHTS_DIR "/p2-transformer.bin");

struct attention *p2_shipped(enum set_reader_kind kind)
{
    const struct p1_weights all[SET_READER_KINDS] = {
        [SET_READER_FF] = {shipped_p2, shipped_p2_end},
        [SET_READER_GRU] = {shipped_p2_gru, shipped_p2_gru_end},
        [SET_READER_TRANSFORMER] = {shipped_p2_transformer, shipped_p2_transformer_end},
    };

    return p1_unpack("p2", kind, all[kind]);
}
