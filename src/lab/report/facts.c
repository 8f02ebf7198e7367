/* facts.c - the numbers of a sweep as report_page.c and the charts show them */
#include "lab/report/facts.h"

#include "base/mem.h"
#include "base/str.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define J_PER_KWH 3.6e6

static double sla_time(const struct sim_result *r)
{
    return 100 * r->sla_time;
}

static double sla_jobs(const struct sim_result *r)
{
    return 100 * r->sla_jobs;
}

static double wait_p95_min(const struct sim_result *r)
{
    return r->wait_p95_s / 60;
}

/* By name: what is called neither Corgi nor oracle counts as an opponent, which is the
 * stricter reading. */
static enum facts_role role_of(const struct policy *policy)
{
    if (str_starts(policy->name, "oracle"))
        return FACTS_ORACLE;
    if (!strcmp(policy->name, "corgi"))
        return FACTS_CORGI;
    if (str_starts(policy->name, "corgi-") || !strcmp(policy->name, "feedback-only"))
        return FACTS_VARIANT;
    return FACTS_OPPONENT;
}

static void fill_parts(struct facts_line *line)
{
    for (int s = 0; s < line->row->seeds; s++) {
        const struct sim_result *r = &line->row->runs[s];
        double unit = J_PER_KWH * line->row->seeds;

        line->parts_kwh[FACTS_DEVICE] += r->energy.device_j / unit;
        line->parts_kwh[FACTS_HOST] += r->energy.host_j / unit;
        line->parts_kwh[FACTS_IDLE] += (r->energy.idle_j - r->energy.asleep_j) / unit;
        line->parts_kwh[FACTS_ASLEEP] += r->energy.asleep_j / unit;
        line->parts_kwh[FACTS_WAKE] += r->energy.wake_j / unit;
        line->jobs += r->jobs;
        line->finished += r->finished;
    }
}

static void fill_line(struct facts_line *line, const struct sweep_row *row)
{
    *line = (struct facts_line){
        .row = row,
        .role = role_of(row->policy),
        .kwh = sweep_mean(row, measure_energy_kwh),
        .sla_time = sweep_mean(row, sla_time),
        .sla_jobs = sweep_mean(row, sla_jobs),
        .service_time = sweep_mean(row, measure_service_time).mean * 100,
        .against = {NAN, NAN},
        .against_corgi = {NAN, NAN},
        .sla_against_corgi = {NAN, NAN},
        .wait_p95_min = sweep_mean(row, wait_p95_min).mean,
        .moves = sweep_mean(row, measure_moves_per_job).mean,
        .wh_per_work = sweep_mean(row, measure_wh_per_work).mean,
        .efficiency_allocated = sweep_mean(row, measure_efficiency_allocated).mean,
        .efficiency_powered = sweep_mean(row, measure_efficiency_powered).mean,
        .decision_p99_ms = sweep_mean(row, measure_decision_p99).mean,
    };
    fill_parts(line);
}

static bool keeps_as_well(const struct facts_line *line, const struct facts_line *other)
{
    return line->sla_time.mean >= other->sla_time.mean - GOALS_MARGIN_TIME &&
           line->sla_jobs.mean >= other->sla_jobs.mean - GOALS_MARGIN_JOBS &&
           !(line->service_time < other->service_time - GOALS_MARGIN_SERVICE);
}

/* In both measures: what the headline says the table must show. */
static bool keeps_better(const struct facts_line *line, const struct facts_line *other)
{
    return line->sla_time.mean >= other->sla_time.mean &&
           line->sla_jobs.mean >= other->sla_jobs.mean;
}

static bool keeps(const struct facts_line *line, const struct facts_line *corgi)
{
    if (line->sla_time.mean >= GOALS_SLA_TIME && line->sla_jobs.mean >= GOALS_SLA_JOBS)
        return true;
    return corgi && keeps_as_well(line, corgi);
}

/* Least energy among opponents that keep promises; where none does, the one that keeps
 * them best stands in and *peer is false. */
static int find_reference(const struct facts_load *l, bool *peer)
{
    const struct facts_line *corgi = l->corgi >= 0 ? &l->lines[l->corgi] : NULL;
    int least = -1, kindest = -1;

    for (int i = 0; i < (int)l->count; i++) {
        const struct facts_line *line = &l->lines[i];

        if (line->role != FACTS_OPPONENT)
            continue;
        if (kindest < 0 || line->sla_time.mean > l->lines[kindest].sla_time.mean)
            kindest = i;
        if (keeps(line, corgi) &&
            (least < 0 || line->kwh.mean < l->lines[least].kwh.mean))
            least = i;
    }
    *peer = least >= 0;
    return least >= 0 ? least : kindest;
}

static enum facts_verdict judge(const struct facts_load *l, bool peer)
{
    const struct facts_line *corgi;
    double spread;

    if (l->corgi < 0)
        return FACTS_NO_CORGI;
    if (l->reference < 0)
        return FACTS_NO_OPPONENT;
    corgi = &l->lines[l->corgi];
    spread = isnan(corgi->against.half_width) ? 0 : corgi->against.half_width;
    if (!peer)
        return corgi->against.mean + spread < 0 &&
                       keeps_better(corgi, &l->lines[l->reference])
                   ? FACTS_BETTER
                   : FACTS_NO_PEER;
    if (corgi->against.mean - spread > 0)
        return FACTS_COSTS;
    if (!keeps_as_well(corgi, &l->lines[l->reference]))
        return FACTS_BREAKS;
    return corgi->against.mean + spread < 0 ? FACTS_SAVES : FACTS_UNCLEAR;
}

static void find_front(struct facts_load *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct facts_line *line = &l->lines[i];

        line->on_front = line->role != FACTS_ORACLE;
        for (size_t k = 0; k < l->count && line->on_front; k++) {
            const struct facts_line *o = &l->lines[k];

            line->on_front = o->role == FACTS_ORACLE || o->kwh.mean > line->kwh.mean ||
                             o->sla_time.mean < line->sla_time.mean ||
                             (o->kwh.mean == line->kwh.mean &&
                              o->sla_time.mean == line->sla_time.mean);
        }
    }
}

static void compare(struct facts_load *l)
{
    bool peer;

    l->corgi = -1;
    for (size_t i = 0; i < l->count; i++)
        if (l->lines[i].role == FACTS_CORGI)
            l->corgi = (int)i;
    l->reference = find_reference(l, &peer);
    for (size_t i = 0; i < l->count; i++) {
        struct facts_line *line = &l->lines[i];

        if (l->reference >= 0)
            line->against = sweep_paired(line->row, l->lines[l->reference].row,
                                         measure_energy_kwh, true);
        if (l->corgi < 0)
            continue;
        line->against_corgi =
            sweep_paired(line->row, l->lines[l->corgi].row, measure_energy_kwh, true);
        line->sla_against_corgi =
            sweep_paired(line->row, l->lines[l->corgi].row, sla_time, false);
    }
    /* Against themselves there is nothing to vary. */
    if (l->reference >= 0)
        l->lines[l->reference].against.half_width = NAN;
    if (l->corgi >= 0)
        l->lines[l->corgi].against_corgi.half_width = NAN;
    l->verdict = judge(l, peer);
    find_front(l);
}

static bool same_load(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void name_group(struct facts_load *l, const struct sweep_row *rows, bool again)
{
    bool sleep = false;

    for (size_t i = 0; i < l->count; i++)
        sleep = sleep || rows[i].sleep;
    if (isnan(rows[0].load))
        snprintf(l->label, sizeof(l->label), "as it came%s",
                 again && !sleep ? ", no sleep" : "");
    else
        snprintf(l->label, sizeof(l->label), "%.0f %% load%s", 100 * rows[0].load,
                 again && !sleep ? ", no sleep" : "");
}

void facts_init(struct facts *facts, const struct sweep *sweep)
{
    *facts = (struct facts){.seeds = sweep->row_count ? sweep->rows[0].seeds : 0};
    facts->loads = mem_array(struct facts_load, sweep->row_count + 1);
    for (size_t i = 0; i < sweep->row_count;) {
        struct facts_load *l = &facts->loads[facts->load_count++];
        bool again;

        l->count = sweep_group(sweep, i);
        again = i > 0 && same_load(sweep->rows[i - 1].load, sweep->rows[i].load);
        name_group(l, &sweep->rows[i], again);
        facts->again = facts->again || again;
        l->lines = mem_array(struct facts_line, l->count);
        for (size_t k = 0; k < l->count; k++)
            fill_line(&l->lines[k], &sweep->rows[i + k]);
        i += l->count;
        compare(l);
    }
}

void facts_fini(struct facts *facts)
{
    for (size_t i = 0; i < facts->load_count; i++)
        free(facts->loads[i].lines);
    free(facts->loads);
    *facts = (struct facts){0};
}

const char *facts_part_name(enum facts_part part)
{
    static const char *const names[FACTS_PARTS] = {"GPUs with jobs", "hosts", "idle GPUs",
                                                   "nodes asleep", "waking"};

    return names[part];
}

static long count_sights(const struct sim_recording *r)
{
    long count = 0;

    for (size_t i = 0; r && i < r->sights.count; i++)
        count += r->sights.items[i].count;
    return count;
}

const struct facts_line *facts_learner(const struct facts_load *l)
{
    if (l->corgi >= 0)
        return &l->lines[l->corgi];
    for (size_t i = 0; i < l->count; i++)
        if (l->lines[i].role != FACTS_ORACLE)
            return &l->lines[i];
    return NULL;
}

bool facts_learning(const struct facts_load *l, int bins, double *percent, double *at_s)
{
    const struct facts_line *learner = facts_learner(l);
    bool any = false;
    double *counts = mem_array(double, (size_t)bins);

    memset(percent, 0, (size_t)bins * sizeof(*percent));
    memset(at_s, 0, (size_t)bins * sizeof(*at_s));
    for (int s = 0; learner && s < learner->row->seeds; s++) {
        const struct sim_recording *r = learner->row->runs[s].recording;
        long all = count_sights(r), before = 0;

        for (size_t i = 0; r && i < r->sights.count; i++) {
            const struct recording_sight *sight = &r->sights.items[i];
            int bin = (int)(bins * (before + 0.5 * sight->count) / (double)all);

            percent[bin] += sight->abs_log_error * sight->count;
            at_s[bin] += sight->at_s * sight->count;
            counts[bin] += sight->count;
            before += sight->count;
        }
    }
    for (int b = 0; b < bins; b++) {
        percent[b] = counts[b] > 0 ? 100 * (exp(percent[b] / counts[b]) - 1) : NAN;
        at_s[b] = counts[b] > 0 ? at_s[b] / counts[b] : NAN;
        any = any || counts[b] > 0;
    }
    free(counts);
    return any;
}
