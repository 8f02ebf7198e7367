/* truth_power.c - see truth_power.h
 *
 * Two things were measured of a card under limits by public sweeps (Zeus, NSDI'23:
 * training jobs of six kinds, 1,609 settings): speed and mean draw, both over those
 * without a limit, by the limit over the draw without.  Below stand, for each card, what
 * one configuration in twenty, half of them and nineteen in twenty stay below; a class of
 * jobs on a type lies at a place of its own between these, a card nobody swept is taken
 * for the nearest that somebody did. */
#include "engine/sim/truth_power.h"

#include "base/rng.h"

#include <math.h>

#define POINTS 9
#define RANKS  3

/* A limit over the draw without it. */
static const double at_ratio[POINTS] = {0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25};

struct sweep_of_card {
    double speed[RANKS][POINTS], watts[RANKS][POINTS];
};

/* The lowest limit of the P100 is half its highest: below 0.7 it is taken for a V100. */
static const struct sweep_of_card p100 = {
    {{0.44, 0.57, 0.68, 0.82, 0.89, 0.90, 0.91, 0.93, 0.95},
     {0.47, 0.61, 0.75, 0.85, 0.91, 0.95, 0.97, 0.99, 1.00},
     {0.60, 0.78, 0.87, 0.90, 0.95, 0.99, 0.99, 1.00, 1.00}},
    {{0.39, 0.49, 0.52, 0.62, 0.71, 0.77, 0.79, 0.80, 0.82},
     {0.40, 0.49, 0.58, 0.66, 0.73, 0.81, 0.86, 0.92, 0.98},
     {0.40, 0.50, 0.59, 0.68, 0.74, 0.82, 0.89, 0.96, 1.00}}};

static const struct sweep_of_card v100 = {
    {{0.44, 0.57, 0.68, 0.78, 0.85, 0.89, 0.92, 0.94, 0.97},
     {0.47, 0.61, 0.75, 0.85, 0.91, 0.94, 0.97, 0.99, 1.00},
     {0.60, 0.78, 0.87, 0.90, 0.94, 0.98, 1.00, 1.00, 1.00}},
    {{0.39, 0.49, 0.52, 0.57, 0.63, 0.69, 0.76, 0.81, 0.88},
     {0.40, 0.49, 0.58, 0.65, 0.73, 0.79, 0.86, 0.92, 0.95},
     {0.40, 0.50, 0.59, 0.68, 0.77, 0.86, 0.94, 1.00, 1.00}}};

static const struct sweep_of_card rtx6000 = {
    {{0.37, 0.53, 0.54, 0.72, 0.85, 0.91, 0.93, 0.96, 0.98},
     {0.42, 0.62, 0.76, 0.86, 0.92, 0.95, 0.98, 1.00, 1.00},
     {0.78, 0.89, 0.93, 0.96, 0.96, 1.00, 1.00, 1.00, 1.00}},
    {{0.39, 0.47, 0.53, 0.61, 0.67, 0.73, 0.78, 0.84, 0.90},
     {0.40, 0.49, 0.57, 0.66, 0.74, 0.82, 0.90, 0.96, 0.97},
     {0.40, 0.50, 0.59, 0.69, 0.79, 0.88, 0.97, 1.00, 1.00}}};

static const struct sweep_of_card a40 = {
    {{0.26, 0.35, 0.36, 0.46, 0.63, 0.77, 0.84, 0.89, 0.94},
     {0.29, 0.45, 0.60, 0.80, 0.92, 0.96, 0.98, 1.00, 1.00},
     {0.34, 0.58, 0.75, 0.89, 0.95, 1.00, 1.00, 1.00, 1.00}},
    {{0.40, 0.49, 0.57, 0.63, 0.68, 0.73, 0.77, 0.83, 0.90},
     {0.40, 0.50, 0.58, 0.66, 0.75, 0.83, 0.90, 0.96, 0.99},
     {0.40, 0.50, 0.60, 0.70, 0.79, 0.88, 0.95, 1.00, 1.00}}};

#define YEAR_OF_V100 2017
#define YEAR_OF_A40  2020
#define FAST_MEMORY  800.0 /* GB/s: a V100's is, a Turing card's is not */

static const struct sweep_of_card *nearest(const struct gpu_sheet *gpu)
{
    if (gpu->year < YEAR_OF_V100)
        return &p100;
    if (gpu->year >= YEAR_OF_A40)
        return &a40;
    return gpu->bandwidth_gbs > FAST_MEMORY ? &v100 : &rtx6000;
}

/* Dynamic power over load is load to a power between these. */
#define EXPONENT_LEAST 0.5
#define EXPONENT_MOST  1.2

#define FLAT_MOST      0.73
#define FLAT_BATCHES   0.40 /* the least of those that batch, the most of others */

/* A number between 0 and 1 that follows from its keys alone. */
static double fixed(uint64_t key, uint64_t what)
{
    struct rng rng;

    rng_init(&rng, rng_mix(key, what));
    return rng_uniform(&rng);
}

enum { EXPONENT_KEY = 400, SPEED_KEY, WATTS_KEY, FLAT_KEY };

double truth_power_flat(uint64_t hidden, bool batches)
{
    double at = fixed(hidden, FLAT_KEY);

    return batches ? FLAT_BATCHES + at * (FLAT_MOST - FLAT_BATCHES) : at * FLAT_BATCHES;
}

/* Between the ranks' values; 0 is the lowest of them, 1 the highest. */
static double at_rank(const double table[RANKS][POINTS], int point, double rank)
{
    double place = rank * (RANKS - 1);
    int below = place < 1 ? 0 : 1;

    return table[below][point] +
           (place - below) * (table[below + 1][point] - table[below][point]);
}

/* A straight line between the points; below the first it goes on to nothing. */
static double curve(const double table[RANKS][POINTS], double ratio, double rank)
{
    int i = 0;
    double left, right;

    if (ratio <= at_ratio[0])
        return at_rank(table, 0, rank) * ratio / at_ratio[0];
    while (i < POINTS - 1 && ratio > at_ratio[i + 1])
        i++;
    left = at_rank(table, i, rank);
    if (i == POINTS - 1)
        return 1;
    right = at_rank(table, i + 1, rank);
    return left +
           (right - left) * (ratio - at_ratio[i]) / (at_ratio[i + 1] - at_ratio[i]);
}

static double dynamic_of(const struct gpu_sheet *gpu, const struct truth_draw *d,
                         double exponent)
{
    double most = fmax(gpu->tdp_watts - gpu->idle_watts, 1e-9);
    double full = fmax(0, fmin(1, (d->watts - gpu->idle_watts) / most));

    return full * (d->flat + (1 - d->flat) * pow(fmax(0, fmin(1, d->active)), exponent));
}

double truth_power_open(const struct gpu_sheet *gpu, const struct truth_draw *draws,
                        int count)
{
    double together = 0, exponents = 0;

    for (int i = 0; i < count; i++) {
        double e = EXPONENT_LEAST +
                   fixed(draws[i].key, EXPONENT_KEY) * (EXPONENT_MOST - EXPONENT_LEAST);

        together += pow(dynamic_of(gpu, &draws[i], e), 1 / e);
        exponents += e / count;
    }
    if (!(together > 0))
        return gpu->idle_watts;
    return gpu->idle_watts +
           (gpu->tdp_watts - gpu->idle_watts) * fmin(1, pow(together, exponents));
}

/* The limit in force; 0: none. */
static double in_force(const struct gpu_sheet *gpu, double cap_watts)
{
    return cap_watts > 0 && gpu->cap_min_watts > 0 ? fmax(cap_watts, gpu->cap_min_watts)
                                                   : 0;
}

double truth_power_limited(const struct gpu_sheet *gpu, const struct truth_draw *draws,
                           int count, double cap_watts, double *speed)
{
    const struct sweep_of_card *card = nearest(gpu);
    double open = truth_power_open(gpu, draws, count), cap = in_force(gpu, cap_watts);
    double share = 0, weights = 0;

    for (int i = 0; i < count; i++)
        speed[i] = 1;
    if (!(cap > 0) || count == 0 || cap >= open * at_ratio[POINTS - 1])
        return open;
    for (int i = 0; i < count; i++) {
        double weight = fmax(draws[i].watts - gpu->idle_watts, 1e-9) *
                        fmax(draws[i].active, draws[i].flat);

        speed[i] = curve(card->speed, cap / open, fixed(draws[i].key, SPEED_KEY));
        share += weight * curve(card->watts, cap / open, fixed(draws[i].key, WATTS_KEY));
        weights += weight;
    }
    return fmin(cap, fmax(gpu->idle_watts, open * (weights > 0 ? share / weights : 1)));
}

struct power_capped truth_power_best(const struct gpu_sheet *gpu, double open_watts,
                                     double cap_watts)
{
    const struct sweep_of_card *card = nearest(gpu);
    double cap = in_force(gpu, cap_watts);

    if (!(cap > 0) || cap >= open_watts * at_ratio[POINTS - 1])
        return (struct power_capped){open_watts, 1};
    return (struct power_capped){
        fmin(cap,
             fmax(gpu->idle_watts, open_watts * curve(card->watts, cap / open_watts, 0))),
        curve(card->speed, cap / open_watts, 1)};
}
