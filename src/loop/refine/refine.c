/* refine.c - see refine.h */
#include "loop/refine/refine.h"

#include "loop/estimate/predict.h"
#include "model/queueing.h"

#include <math.h>

/* The score follows the last few hundred observations. */
#define SCORE_MEMORY    300.0

#define INFERRED_SD_MAX 0.1

static void follow(double *mean, long count, double value)
{
    double weight = fmin((double)count, SCORE_MEMORY);

    *mean += (value - *mean) / weight;
}

bool refine_is_measured(const struct observation *seen)
{
    const struct job *job = seen->where.members[seen->subject].job;

    return job->kind != JOB_INFERENCE ||
           (!seen->floor && seen->rate_sd_log <= INFERRED_SD_MAX);
}

double refine_note(struct model *model, const struct observation *seen,
                   struct refine_score *score, struct prediction *expected)
{
    const struct estimate *rate = &expected->rate[seen->subject];
    double measured = queueing_useful(seen->where.members[seen->subject].job, seen->rate);
    double error;

    predict(model, &seen->where, expected);
    if (!refine_is_measured(seen))
        return 0;
    error = fabs(log(fmax(measured, 1e-12) / rate->value));
    score->observations++;
    follow(&score->abs_log_error, score->observations, error);
    follow(&score->coverage, score->observations,
           measured >= rate->low && measured <= rate->high);
    if (rate->source != ESTIMATE_MEASURED) {
        score->first_sights++;
        score->first_newest = error;
        follow(&score->first_abs_log_error, score->first_sights, error);
    }
    return error;
}
