/* normal.c - planners and admission call this for every place they look at, so the
 * quantile is a closed formula and one Newton step, not an iteration to the last digit */
#include "base/normal.h"

#include <assert.h>
#include <math.h>

double normal_quantile(double p)
{
    /* Odd series in t = sqrt(-2 ln q) for the tail q <= 1/2 (Abramowitz and
     * Stegun 26.2.23, error below 4.5e-4), sharpened by one Newton step. */
    double q = p < 0.5 ? p : 1 - p, t, z;

    assert(p > 0 && p < 1);
    if (p == 0.5)
        return 0;
    t = sqrt(-2 * log(q));
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    z += (0.5 * erfc(z / M_SQRT2) - q) * sqrt(2 * M_PI) * exp(z * z / 2);
    return p < 0.5 ? -z : z;
}
