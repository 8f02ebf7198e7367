/* doubt.c - job_effects.c asks it of each window, learned_absorb.c tells it which were
 * wrong */
#include "model/doubt.h"

#include <math.h>

/* However long none was wrong. */
#define SHARE_MIN 1e-3

/* About so many windows count. */
#define MEMORY 1000.0

/* Where wrong windows lie, as a sd of the log: a factor of seven either way. */
#define WRONG_SD 2.0

/* Of expectations, as degrees of freedom: they miss by much more often than a normal
 * distribution does. */
#define TAIL 8.0

/* Changes by a multiple are rarer than this a window, and are to be a hundred times
 * likelier than that all windows that tell of one are wrong.  Wrong ones agree half of
 * the time: who reads ten times too much once does so again. */
#define CHANGES 0.005
#define SURE    0.01
#define AGREE   0.5
#define RUN_MIN 2
#define RUN_MAX 6

struct doubt doubt_start(double share, double windows)
{
    return (struct doubt){share * windows, windows};
}

double doubt_share(const struct doubt *d)
{
    return fmin(fmax(d->wrong / d->windows, SHARE_MIN), 0.5);
}

void doubt_note(struct doubt *d, int wrong)
{
    double keep = d->windows > MEMORY ? 1 - 1 / MEMORY : 1;

    d->windows = keep * d->windows + 1;
    d->wrong = fmin(keep * d->wrong + wrong, d->windows);
}

double doubt_density(double off, double var)
{
    return -(TAIL + 1) / 2 * log1p(off * off / (TAIL * var)) - log(var) / 2;
}

double doubt_of(double share, double off, double var, int count)
{
    double wide = var + WRONG_SD * WRONG_SD;
    double wrong = log(share) - (count - 1) * doubt_weight(share) -
                   (off * off / wide + log(wide)) / 2;
    double right = count * log(1 - share) + doubt_density(off, var);

    return 1 / (1 + exp(right - wrong));
}

int doubt_run(double share)
{
    double all_wrong = share;
    int run = 1;

    while (run < RUN_MAX && (run < RUN_MIN || all_wrong > SURE * CHANGES)) {
        all_wrong *= share * AGREE;
        run++;
    }
    return run;
}

double doubt_weight(double share)
{
    return -log(share * AGREE);
}

void doubt_code(struct doubt *d, struct codec *c)
{
    codec_at_least(c, &d->wrong, 0);
    codec_at_least(c, &d->windows, 1);
}
