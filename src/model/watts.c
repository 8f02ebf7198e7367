/* watts.c - see watts.h */
#include "model/watts.h"

#include "base/vec.h"
#include "world/world.h"

#include <math.h>
#include <string.h>

/* Share of the dynamic range a job of which nothing is known draws. */
#define TYPICAL_SHARE   0.5

#define SHARE_MIN       0.02
#define SHARE_MAX       1.2

#define MEASURED_LOG_SD 0.05
#define CARRIED_LOG_SD  0.25
#define TYPICAL_LOG_SD  0.5

/* The line between two types starts at slope 1 and counts as so much evidence. */
#define SLOPE_PRIOR 1.0

struct watts_row {
    double prior;                /* ln share */
    double seen[WORLD_MAX_GPUS]; /* ln share, NaN: never */
};

struct watts {
    vec_of(struct watts_row) rows;
    struct gpu_sheet sheets[WORLD_MAX_GPUS];
    int gpus;
};

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

int watts_add_job(struct watts *w, double busy)
{
    struct watts_row row = {.prior = log(busy > 0 ? busy : TYPICAL_SHARE)};

    for (int g = 0; g < WORLD_MAX_GPUS; g++)
        row.seen[g] = NAN;
    vec_push(&w->rows, row);
    return (int)w->rows.count - 1;
}

int watts_add_gpu(struct watts *w, const struct gpu_sheet *sheet)
{
    w->sheets[w->gpus] = *sheet;
    return w->gpus++;
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
    const struct watts_row *row = &w->rows.items[job];
    const struct gpu_sheet *sheet = &w->sheets[gpu];
    double sum = 0;
    int count = 0;

    if (!isnan(row->seen[gpu]))
        return (struct watts_guess){watts_of(sheet, row->seen[gpu]), MEASURED_LOG_SD, 1};
    for (int g = 0; g < w->gpus; g++)
        if (!isnan(row->seen[g])) {
            sum += carry(w, job, g, gpu);
            count++;
        }
    if (count > 0)
        return (struct watts_guess){watts_of(sheet, sum / count), CARRIED_LOG_SD, count};
    return (struct watts_guess){watts_of(sheet, row->prior), TYPICAL_LOG_SD, 0};
}

struct watts_guess watts_predict_guest(const struct watts *w, int gpu)
{
    return (struct watts_guess){watts_of(&w->sheets[gpu], log(TYPICAL_SHARE)),
                                TYPICAL_LOG_SD, 0};
}

void watts_write(const struct watts *w, struct bytes_out *out)
{
    for (size_t j = 0; j < w->rows.count; j++) {
        if (bytes_class(out, (int)j) < 0)
            continue;
        bytes_put_u64(out, 1);
        bytes_put_real(out, w->rows.items[j].prior);
        bytes_put_reals(out, w->rows.items[j].seen, (size_t)w->gpus);
    }
    bytes_put_u64(out, 0);
}

void watts_read(struct watts *w, struct bytes_in *in)
{
    while (bytes_int(in, 0, 1)) {
        int job = watts_add_job(w, 0);

        w->rows.items[job].prior = bytes_real(in);
        for (int g = 0; g < w->gpus; g++)
            w->rows.items[job].seen[g] = bytes_real_or_nan(in);
    }
}

int watts_job_count(const struct watts *w)
{
    return (int)w->rows.count;
}
