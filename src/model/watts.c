/* watts.c - draws of jobs: classes.c tells it what was measured and asks it */
#include "model/watts.h"

#include "base/mem.h"
#include "model/by_user.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the dynamic range a job of which nothing is known draws. */
#define TYPICAL_SHARE   0.5

#define SHARE_MIN       0.02
#define SHARE_MAX       1.2

#define MEASURED_LOG_SD 0.05
#define OTHERS_LOG_SD   0.1 /* of jobs told alike by other users */
#define CARRIED_LOG_SD  0.25
#define TYPICAL_LOG_SD  0.5

/* The line between two types starts at slope 1 and counts as so much evidence. */
#define SLOPE_PRIOR 1.0

struct watts *watts_create(void)
{
    return mem_new(struct watts);
}

void watts_destroy(struct watts *w)
{
    if (!w)
        return;
    vec_free(&w->rows);
    free(w);
}

int watts_add_job(struct watts *w)
{
    return watts_add_job_of(w, -1);
}

int watts_add_job_of(struct watts *w, int kind)
{
    struct watts_row row = {.kind = kind};

    for (int g = 0; g < WORLD_MAX_GPUS; g++)
        row.seen[g] = NAN;
    vec_push(&w->rows, row);
    return (int)w->rows.count - 1;
}

void watts_add_gpu(struct watts *w, const struct gpu_sheet *sheet)
{
    w->sheets[w->gpus++] = *sheet;
}

static double share_of(const struct gpu_sheet *s, double watts)
{
    double share = (watts - s->idle_watts) / (s->tdp_watts - s->idle_watts);

    return log(fmin(fmax(share, SHARE_MIN), SHARE_MAX));
}

static double watts_of(const struct gpu_sheet *s, double share)
{
    return s->idle_watts + (s->tdp_watts - s->idle_watts) *
                               exp(fmin(fmax(share, log(SHARE_MIN)), log(SHARE_MAX)));
}

void watts_observe(struct watts *w, int job, int gpu, double device_watts)
{
    double share = share_of(&w->sheets[gpu], device_watts);
    double *seen = &w->rows.items[job].seen[gpu];

    *seen = isnan(*seen) ? share : *seen + 0.3 * (share - *seen);
}

/* From one type to another along the line other jobs follow. */
static double carry(const struct watts *w, int job, int from, int to)
{
    double x0 = w->rows.items[job].seen[from];
    double n = 0, sx = 0, sy = 0, sxx = SLOPE_PRIOR, sxy = SLOPE_PRIOR, mx, my;

    vec_each (const struct watts_row, r, &w->rows) {
        if (r == &w->rows.items[job] || isnan(r->seen[from]) || isnan(r->seen[to]))
            continue;
        n++;
        sx += r->seen[from];
        sy += r->seen[to];
    }
    if (n <= 0)
        return x0;
    mx = sx / n;
    my = sy / n;
    vec_each (const struct watts_row, r, &w->rows) {
        if (r == &w->rows.items[job] || isnan(r->seen[from]) || isnan(r->seen[to]))
            continue;
        sxx += (r->seen[from] - mx) * (r->seen[from] - mx);
        sxy += (r->seen[from] - mx) * (r->seen[to] - my);
    }
    return my + sxy / sxx * (x0 - mx);
}

struct watts_guess watts_predict(const struct watts *w, int job, int gpu)
{
    const struct gpu_sheet *sheet = &w->sheets[gpu];
    const double *seen = NULL;
    double sum = 0;
    int count = 0;

    if (job < (int)w->rows.count)
        seen = w->rows.items[job].seen;
    if (seen && !isnan(seen[gpu]))
        return (struct watts_guess){watts_of(sheet, seen[gpu]), MEASURED_LOG_SD, 1};
    for (int g = 0; seen && g < w->gpus; g++)
        if (!isnan(seen[g])) {
            sum += carry(w, job, g, gpu);
            count++;
        }
    if (count > 0)
        return (struct watts_guess){watts_of(sheet, sum / count), CARRIED_LOG_SD, count};
    return (struct watts_guess){watts_of(sheet, log(TYPICAL_SHARE)), TYPICAL_LOG_SD, 0};
}

struct watts_guess watts_predict_of(const struct watts *w, int job, int kind, int gpu)
{
    bool known = job < (int)w->rows.count && !isnan(w->rows.items[job].seen[gpu]);
    struct by_user *all;
    size_t count = 0;
    double share;

    if (known || kind < 0)
        return watts_predict(w, job, gpu);
    all = mem_array(struct by_user, w->rows.count + 1);
    vec_each (const struct watts_row, r, &w->rows)
        if (r->kind == kind && !isnan(r->seen[gpu]))
            all[count++] = (struct by_user){r->seen[gpu], 1};
    share = count > 0 ? by_user_median(all, count) : NAN;
    free(all);
    if (isnan(share))
        return watts_predict(w, job, gpu);
    return (struct watts_guess){watts_of(&w->sheets[gpu], share), OTHERS_LOG_SD,
                                (int)count};
}

void watts_code(struct watts *w, struct codec *c)
{
    double typical = log(TYPICAL_SHARE); /* that of the job, when each had its own */

    for (size_t j = 0; codec_next(c, &j, w->rows.count); j++) {
        if (c->in)
            watts_add_job(w);
        codec_real(c, &typical);
        codec_or_nan(c, w->rows.items[j].seen, (size_t)w->gpus);
    }
}
