/* classes_answer.c - answers about classes, kept until they are old; see classes.h */
#include "loop/model/classes.h"

#include "base/mem.h"
#include "loop/model/classes_state.h"

#include <math.h>
#include <stdlib.h>

/* An answer from other cells holds until this share of all cells is news. */
#define NEWS_SHARE 0.125

/* The same for a row of pairs, of the cells that were told of it. */
#define ROW_NEWS_SHARE 0.2

/* Widths cost most and only shrink: made again when the row knows so many times more. */
#define WIDTHS_GROWTH 1.5

/* Below this chance of fitting anywhere a footprint is too large for the cluster. */
#define FITS_HOPE 0.02

/* sd of RATES_* bases as calibrated on synthetic worlds: the models' own are narrow. */
static const double basis_factor[RATES_BASIS_COUNT] = {1, 1.25, 1.25, 1.5, 1};

static struct class_guess guess_alone(struct classes *c, int cls, int type)
{
    const struct tally *t = classes_tally(c, cls, type);
    struct rates_guess g = rates_predict(c->rates, cls, type);
    double sd = g.sd * basis_factor[g.basis];

    if (t->jobs > 0)
        return (struct class_guess){
            .mean = t->mean,
            .var = t->inferred ? t->var : t->var / t->jobs,
            .measured = !t->inferred,
            .observations = (int)t->jobs,
        };
    return (struct class_guess){
        .mean = g.mean, .var = sd * sd, .observations = g.observations};
}

struct class_guess classes_alone(struct classes *c, int cls, int type)
{
    struct kept_alone *kept =
        &c->kept.items[(size_t)cls * (size_t)c->type_count + (size_t)type];
    struct class_state *s = &c->states.items[cls];
    bool old = (double)(c->alone_news - kept->news) > NEWS_SHARE * (double)c->alone_cells;

    if (kept->version == s->version && (!old || kept->guess.measured))
        return kept->guess;
    kept->guess = guess_alone(c, cls, type);
    if (kept->version == s->version) /* others moved it: what rests on it is old too */
        s->version++;
    kept->version = s->version;
    kept->news = c->alone_news;
    return kept->guess;
}

static void widen_row(struct row *row, int types, int wanted)
{
    size_t old = (size_t)row->capacity * (size_t)types, new;

    if (wanted <= row->capacity)
        return;
    while (row->capacity < wanted)
        row->capacity = row->capacity ? 2 * row->capacity : 32;
    new = (size_t)row->capacity *(size_t)types;
    row->guesses = mem_resize(row->guesses, old, new, sizeof(*row->guesses));
    row->core_sd = mem_resize(row->core_sd, old, new, sizeof(*row->core_sd));
}

/* Make answers for the classes from `first` on, widths only where asked for. */
static void fill_row(struct classes *c, int cls, int first, bool widths)
{
    struct row *row = &c->states.items[cls].row;
    size_t types = (size_t)c->type_count;
    size_t count = c->states.count - (size_t)first;
    int *others = mem_array(int, count + 1);
    struct pairs_guess *guesses = mem_array(struct pairs_guess, types * count + 1);
    double *sd = mem_array(double, types *count + 1);

    widen_row(row, c->type_count, (int)c->states.count);
    for (size_t i = 0; i < count; i++) {
        others[i] = first + (int)i;
        for (size_t t = 0; t < types; t++)
            sd[t * count + i] = row->core_sd[((size_t)first + i) * types + t];
    }
    pairs_renew_row(c->pairs, cls, others, count, widths, sd, guesses);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < types; t++) {
            row->guesses[((size_t)first + i) * types + t] = guesses[t * count + i];
            row->core_sd[((size_t)first + i) * types + t] = sd[t * count + i];
        }
    row->width = (int)c->states.count;
    free(others);
    free(guesses);
    free(sd);
}

static void renew_row(struct classes *c, int cls)
{
    struct class_state *s = &c->states.items[cls];
    struct row *row = &s->row;
    bool widths = row->width == 0 || row->adapted != c->adapted ||
                  s->told + 1 > WIDTHS_GROWTH * (row->told_widths + 1);

    if (row->width < (int)c->states.count && row->width > 0)
        fill_row(c, cls, row->width, true);
    fill_row(c, cls, 0, widths);
    if (widths)
        row->told_widths = s->told;
    row->news = 0;
    row->all_news = c->pair_news;
    row->adapted = c->adapted;
}

static bool row_is_old(const struct classes *c, const struct class_state *s)
{
    return s->row.width == 0 || s->row.adapted != c->adapted ||
           s->row.news > ROW_NEWS_SHARE * s->told ||
           (double)(c->pair_news - s->row.all_news) >
               NEWS_SHARE * (double)c->beside.count;
}

struct class_guess classes_beside(struct classes *c, int cls, int type, int other)
{
    struct class_state *s = &c->states.items[cls];
    const struct pairs_guess *g;

    if (row_is_old(c, s))
        renew_row(c, cls);
    else if (other >= s->row.width)
        fill_row(c, cls, s->row.width, true);
    g = &s->row.guesses[other * c->type_count + type];
    return (struct class_guess){
        .mean = g->mean,
        .var = g->sd * g->sd,
        .measured = g->times > 0,
        .observations = g->times,
    };
}

struct watts_guess classes_watts(struct classes *c, int cls, int type)
{
    struct kept_watts *kept =
        &c->drawn.items[(size_t)cls * (size_t)c->type_count + (size_t)type];

    if (!kept->valid ||
        (double)(c->watts_news - kept->news) > NEWS_SHARE * (double)c->states.count) {
        kept->guess = watts_predict(c->watts, cls, type);
        kept->news = c->watts_news;
        kept->valid = true;
    }
    return kept->guess;
}

/* The best chance the class has on any type of the cluster, alone; 0 when it has failed
 * on one: what is believed of its size is no guess then. */
static double fits_somewhere(struct classes *c, int cls)
{
    struct class_state *s = &c->states.items[cls];

    if (s->fits_known)
        return s->fits_best;
    s->fits_best = 0;
    s->fits_known = true;
    for (int t = 0; t < c->type_count && !footprint_failed_alone(c->footprint, cls); t++)
        s->fits_best = fmax(s->fits_best, footprint_fits(c->footprint, t,
                                                         c->types[t].memory_gb, &cls, 1));
    return s->fits_best;
}

/* Who submits a job expects it to fit somewhere, and a footprint worked out from a
 * descriptor is a guess: unless it is far too large, or has been seen to fail, the job is
 * taken to fit on the type where it most likely does.  Refusing it would teach nothing.
 */
double classes_fit(struct classes *c, int type, const int *members, int count)
{
    double fits = footprint_fits(c->footprint, type, c->types[type].memory_gb, members,
                                 (size_t)count);

    for (int i = 0; i < count; i++) {
        double somewhere = fits_somewhere(c, members[i]);

        if (somewhere >= FITS_HOPE)
            fits /= somewhere;
    }
    return fmin(1, fits);
}
