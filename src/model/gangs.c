/* gangs.c - what several devices gain: learned_predict.c asks, learned_absorb.c tells
 * what gangs did */
#include "model/gangs.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

/* Effective speed of common links: a PCIe slot, slower beside cards with slow memory as
 * they are in older machines, and the network of a machine room. */
#define NODE_GBS      8.0
#define NODE_CARD_GBS 500.0
#define SPREAD_GBS    1.5

/* Part of the exchange that computing does not hide. */
#define VISIBLE 0.5

/* Exchange over computing of a model nobody described. */
#define UNTOLD_NODE   0.08
#define UNTOLD_SPREAD 0.4

#define SHARE_MIN     1e-3
#define SHARE_MAX     50.0
#define RESIDUAL_MAX  2.5
#define OFF_MOST      5.0 /* of all corrections together */
#define LEVELS        5
#define LEVELS_OF_ALL 2 /* the first ones are of all users, the others of one */
#define LEVELS_MAX    100000

/* How far ln(exchange / computing) strays, below each level of likeness. */
static const double level_sd[LEVELS + 1] = {1.0, 0.8, 0.7, 0.5, 0.35, 0.15};

struct gangs *gangs_create(const struct gpu_sheet *types)
{
    struct gangs *s = mem_new(struct gangs);

    s->types = types;
    s->book = mean_book_create();
    return s;
}

void gangs_destroy(struct gangs *s)
{
    if (!s)
        return;
    mean_book_destroy(s->book);
    free(s);
}

static void make_keys(const struct gangs_case *at, uint64_t keys[LEVELS])
{
    uint64_t link = rng_mix(at->spread, 101);

    keys[0] = link;
    keys[1] = rng_mix(link, (uint64_t)at->type + 1000);
    keys[2] = rng_mix(link, at->family ? at->family : at->cls + 1);
    keys[3] = rng_mix(link, at->cls);
    keys[4] = rng_mix(keys[3], (uint64_t)at->type + 1000);
}

/* Exchange over computing on one device, before anything was measured. */
static double share_before(const struct gangs *s, const struct gangs_case *at)
{
    double gbs = at->spread
                     ? SPREAD_GBS
                     : NODE_GBS * sqrt(s->types[at->type].bandwidth_gbs / NODE_CARD_GBS);
    double share = at->spread ? UNTOLD_SPREAD : UNTOLD_NODE;

    if (at->params_millions > 0)
        share = VISIBLE * at->params_millions * 4e-3 / gbs * exp(at->log_rate);
    return fmin(fmax(share, SHARE_MIN), SHARE_MAX);
}

/* A ring passes the gradients nearly twice. */
static double passes(int devices)
{
    return 2.0 * (devices - 1) / devices;
}

struct gangs_guess gangs_predict(const struct gangs *s, const struct gangs_case *at)
{
    uint64_t keys[LEVELS];
    struct mean_answer answer;
    double cost, weight;

    if (at->devices <= 1)
        return (struct gangs_guess){0};
    make_keys(at, keys);
    answer = mean_book_ask(s->book, keys, LEVELS, level_sd);
    cost = passes(at->devices) * share_before(s, at) * exp(answer.mean);
    weight = cost / (1 + cost);
    return (struct gangs_guess){
        .mean = log(at->devices) - log1p(cost),
        .var = weight * weight * answer.sd * answer.sd,
        .observations = answer.observations,
    };
}

void gangs_observe(struct gangs *s, const struct gangs_case *at, double gain, double var,
                   double share_of_all)
{
    struct gangs_guess before = gangs_predict(s, at);
    double share = share_before(s, at);
    double cost = exp(log(at->devices) - before.mean) - 1, weight, off;
    uint64_t keys[LEVELS];

    if (at->devices <= 1)
        return;
    /* Where the exchange hardly shows a measurement says little about it. */
    weight = cost / (1 + cost);
    off = (before.mean - gain) / fmax(weight, 0.05);
    off = log(cost / (passes(at->devices) * share)) +
          fmin(fmax(off, -RESIDUAL_MAX), RESIDUAL_MAX);
    off = fmin(fmax(off, -OFF_MOST), OFF_MOST);
    if (s->book->levels.count > LEVELS_MAX) { /* decades of new models: start anew */
        mean_book_destroy(s->book);
        s->book = mean_book_create();
    }
    make_keys(at, keys);
    weight = fmax(weight * weight / (weight * weight + 4 * var), 0.02);
    mean_book_add(s->book, keys, LEVELS_OF_ALL, off, weight * share_of_all);
    mean_book_add(s->book, keys + LEVELS_OF_ALL, LEVELS - LEVELS_OF_ALL, off, weight);
}
