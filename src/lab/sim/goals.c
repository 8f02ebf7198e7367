/* goals.c - judges a sweep by the goals and prints them: `corgi sim` and its report call
 * it with what sweep.c has run */
#include "lab/sim/goals.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_MIN 0.3
#define LOAD_MAX 0.9
#define NEARLY   1e-9 /* loads are percent divided by 100 */

/* Opponents with the same levers: power limits, sleep, and of the second also sharing. */
#define LEAST "least-energy-caps"
#define GAVEL "gavel-energy-packed"

#define ENERGY                                                                           \
    .unit = "% energy", .value = measure_energy_kwh, .kind = GOALS_PERCENT, .scale = 1
#define EFFICIENCY                                                                       \
    .policy = "corgi", .opponent = LEAST, .unit = "% work per GPU-h",                    \
    .kind = GOALS_PERCENT, .scale = 1, .load_max = LOAD_MAX

static const struct goals_goal all_goals[] = {
    {.name = "energy",
     .policy = "corgi",
     .opponent = LEAST,
     ENERGY,
     .must = -20,
     .target = -26,
     .load_max = 0.7,
     .saving = true},
    {.name = "energy",
     .policy = "corgi",
     .opponent = GAVEL,
     ENERGY,
     .must = -7,
     .target = -10,
     .load_max = LOAD_MAX,
     .saving = true},
    {.name = "distance from the oracle",
     .policy = "corgi",
     .opponent = "oracle",
     ENERGY,
     .must = 3,
     .target = 1.5,
     .load_max = LOAD_MAX},
    {.name = "distance without caps",
     .policy = "corgi-nocaps",
     .opponent = "oracle-nocaps",
     ENERGY,
     .must = 3,
     .target = 1.5,
     .load_max = LOAD_MAX},
    {.name = "promises by job-time",
     .policy = "corgi",
     .unit = "%",
     .value = measure_sla_time,
     .scale = 100,
     .must = GOALS_SLA_TIME,
     .target = 99.8,
     .load_max = LOAD_MAX},
    {.name = "promises by jobs",
     .policy = "corgi",
     .opponent = LEAST,
     .unit = "points",
     .value = measure_sla_jobs,
     .kind = GOALS_POINTS,
     .scale = 100,
     .must = -1,
     .target = 0,
     .load_max = LOAD_MAX},
    {.name = "services",
     .policy = "corgi",
     .unit = "% of time",
     .value = measure_service_time,
     .scale = 100,
     .must = 99.9,
     .target = 99.95,
     .load_max = LOAD_MAX},
    {.name = "moves",
     .policy = "corgi",
     .unit = "a job",
     .value = measure_moves_per_job,
     .scale = 1,
     .must = 0.5,
     .target = 0.25,
     .load_max = LOAD_MAX},
    {.name = "moves of services",
     .policy = "corgi",
     .unit = "a service",
     .value = measure_service_moves,
     .scale = 1,
     .must = 0.1,
     .target = 0.05,
     .load_max = LOAD_MAX},
    {.name = "efficiency, allocated",
     EFFICIENCY,
     .value = measure_efficiency_allocated,
     .must = 27.6,
     .target = 45},
    {.name = "efficiency, powered",
     EFFICIENCY,
     .value = measure_efficiency_powered,
     .must = 50,
     .target = 80},
    {.name = "networks: energy",
     .policy = "corgi",
     .opponent = "feedback-only",
     ENERGY,
     .must = -1.5,
     .target = -4,
     .load_max = LOAD_MAX,
     .saving = true},
    {.name = "networks: promises by jobs",
     .policy = "corgi",
     .opponent = "feedback-only",
     .unit = "points",
     .value = measure_sla_jobs,
     .kind = GOALS_POINTS,
     .scale = 100,
     .must = 3,
     .target = 5,
     .load_max = LOAD_MAX},
};

#define GOAL_COUNT (sizeof(all_goals) / sizeof(all_goals[0]))

_Static_assert(GOAL_COUNT <= GOALS_MAX, "more goals than lines");

bool goals_less_is_better(const struct goals_goal *goal)
{
    return goal->target < goal->must;
}

static bool reaches(const struct goals_goal *goal, double measured, double wanted)
{
    return goals_less_is_better(goal) ? measured <= wanted : measured >= wanted;
}

/* The end of the interval that speaks against the goal; NaN reaches nothing. */
static double weak_end(const struct goals_goal *goal, struct sweep_mean m)
{
    return goals_less_is_better(goal) ? m.mean + m.half_width : m.mean - m.half_width;
}

/* Points below the opponent at most as the protocol allows?  Without services there is
 * nothing to say of them. */
static bool keeps_as_well(const struct sweep_row *row, const struct sweep_row *other)
{
    double services = 100 * sweep_paired(row, other, measure_service_time, false).mean;

    return !(services < -GOALS_MARGIN_SERVICE) &&
           100 * sweep_paired(row, other, measure_sla_time, false).mean >=
               -GOALS_MARGIN_TIME &&
           100 * sweep_paired(row, other, measure_sla_jobs, false).mean >=
               -GOALS_MARGIN_JOBS;
}

static struct goals_at judge(const struct goals_goal *goal, const struct sweep_row *row,
                             const struct sweep_row *other)
{
    struct goals_at at = {.load = row->load, .promises_kept = true, .met = GOALS_NO};

    at.measured = goal->kind == GOALS_VALUE ? sweep_mean(row, goal->value)
                                            : sweep_paired(row, other, goal->value,
                                                           goal->kind == GOALS_PERCENT);
    at.measured.mean *= goal->scale;
    at.measured.half_width *= goal->scale;
    if (goal->saving)
        at.promises_kept = keeps_as_well(row, other);
    if (!at.promises_kept)
        return at;
    if (reaches(goal, at.measured.mean, goal->target))
        at.met = GOALS_TARGET;
    else if (reaches(goal, at.measured.mean, goal->must))
        at.met = GOALS_MUST;
    at.clear =
        at.met != GOALS_NO && reaches(goal, weak_end(goal, at.measured),
                                      at.met == GOALS_TARGET ? goal->target : goal->must);
    return at;
}

static bool worse(const struct goals_goal *goal, const struct goals_at *a,
                  const struct goals_at *b)
{
    if (a->met != b->met)
        return a->met < b->met;
    return goals_less_is_better(goal) ? a->measured.mean > b->measured.mean
                                      : a->measured.mean < b->measured.mean;
}

static bool set_for(const struct goals_goal *goal, double load)
{
    if (isnan(load))
        return goal->load_max >= LOAD_MAX;
    return load >= LOAD_MIN - NEARLY && load <= goal->load_max + NEARLY;
}

static void measure_goal(struct goals_line *line, const struct sweep *sweep)
{
    const struct goals_goal *goal = line->goal;

    line->at = mem_array(struct goals_at, sweep->row_count + 1);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        const struct sweep_row *other =
            goal->opponent ? sweep_peer(sweep, i, goal->opponent) : NULL;

        if (strcmp(row->policy->name, goal->policy) != 0 || !row->sleep ||
            !set_for(goal, row->load) || (goal->opponent && (!other || !other->sleep)))
            continue;
        line->at[line->count++] = judge(goal, row, other);
    }
    for (size_t i = 0; i < line->count; i++)
        if (!line->worst || worse(goal, &line->at[i], line->worst))
            line->worst = &line->at[i];
}

static bool follows_protocol(const struct sweep_options *o)
{
    const struct scenario_options *s = &o->scenario;

    return s->workload && !strcmp(s->workload, "standard") && !s->trace && !s->arrivals &&
           !s->slurm && !s->cluster && !s->replace && !s->demand && s->days == 0 &&
           s->limit == 0 && o->sim.limit_s == 0 && o->seeds >= 8;
}

void goals_init(struct goals *goals, const struct sweep *sweep,
                const struct sweep_options *options)
{
    *goals = (struct goals){.count = GOAL_COUNT};
    goals->by_protocol = follows_protocol(options);
    for (size_t g = 0; g < GOAL_COUNT; g++) {
        goals->lines[g].goal = &all_goals[g];
        measure_goal(&goals->lines[g], sweep);
    }
}

void goals_fini(struct goals *goals)
{
    for (size_t g = 0; g < goals->count; g++)
        free(goals->lines[g].at);
    *goals = (struct goals){0};
}

bool goals_compare(const struct goals *goals)
{
    for (size_t g = 0; g < goals->count; g++)
        if (goals->lines[g].goal->opponent && goals->lines[g].worst)
            return true;
    return false;
}

const char *goals_verdict(const struct goals_line *line)
{
    if (!line->worst)
        return "not measured";
    switch (line->worst->met) {
    case GOALS_TARGET:
        return line->worst->clear ? "target" : "target, unclear";
    case GOALS_MUST:
        return line->worst->clear ? "must" : "must, unclear";
    default:
        return line->worst->promises_kept ? "no" : "no: breaks promises";
    }
}

/* ---- as a table and as JSON ---------------------------------------------------------
 */

static void cell_load(struct table *t, double load)
{
    if (isnan(load))
        table_cell(t, "trace");
    else
        table_cellf(t, "%.0f%%", 100 * load);
}

/* Differences show that they are some. */
static const char *sign_of(const struct goals_goal *goal, double figure)
{
    return goal->kind != GOALS_VALUE && figure > 0 ? "+" : "";
}

static void cell_measured(struct table *t, const struct goals_line *line)
{
    const struct goals_at *at = line->worst;
    const char *sign = sign_of(line->goal, at->measured.mean);

    if (isnan(at->measured.half_width))
        table_cellf(t, "%s%.2f", sign, at->measured.mean);
    else
        table_cellf(t, "%s%.2f ±%.2f", sign, at->measured.mean, at->measured.half_width);
}

static void one_line(struct table *t, const struct goals_line *line)
{
    const struct goals_goal *goal = line->goal;

    table_row(t);
    table_cell(t, goal->name);
    table_cell(t, goal->policy);
    table_cell(t, goal->opponent ? goal->opponent : "-");
    table_cell(t, goal->unit);
    table_cellf(t, "%s%g", sign_of(goal, goal->must), goal->must);
    table_cellf(t, "%s%g", sign_of(goal, goal->target), goal->target);
    if (line->worst) {
        cell_measured(t, line);
        cell_load(t, line->worst->load);
    } else {
        table_cell(t, "-");
        table_cell(t, "-");
    }
    table_cell(t, goals_verdict(line));
    if (line->worst)
        table_mark(t, line->worst->met == GOALS_NO ? TABLE_BAD : TABLE_GOOD);
}

struct table *goals_table(const struct goals *goals)
{
    struct table *t =
        table_create("goal|row|against|unit|>must|>target|>measured|>at load|met");

    for (size_t g = 0; g < goals->count; g++)
        one_line(t, &goals->lines[g]);
    return t;
}

static void json_met(struct json_out *out, const struct goals_at *at)
{
    static const char *const words[] = {NULL, "no", "must", "target"};

    json_out_key_string(out, "met", at ? words[at->met] : NULL);
}

static void json_at(struct json_out *out, const struct goals_at *at)
{
    json_out_begin_object(out);
    json_out_key_number(out, "load", at->load);
    json_out_key_number(out, "measured", at->measured.mean);
    json_out_key_number(out, "measured_ci", at->measured.half_width);
    json_out_key_bool(out, "promises_kept", at->promises_kept);
    json_met(out, at);
    json_out_key_bool(out, "clear", at->clear);
    json_out_end(out);
}

void goals_json(const struct goals *goals, struct json_out *out)
{
    json_out_begin_array(out);
    for (size_t g = 0; g < goals->count; g++) {
        const struct goals_line *line = &goals->lines[g];

        json_out_begin_object(out);
        json_out_key_string(out, "goal", line->goal->name);
        json_out_key_string(out, "policy", line->goal->policy);
        json_out_key_string(out, "against", line->goal->opponent);
        json_out_key_string(out, "unit", line->goal->unit);
        json_out_key_string(out, "better",
                            goals_less_is_better(line->goal) ? "less" : "more");
        json_out_key_number(out, "must", line->goal->must);
        json_out_key_number(out, "target", line->goal->target);
        json_out_key_number(out, "worst", line->worst ? line->worst->measured.mean : NAN);
        json_met(out, line->worst);
        json_out_key(out, "at");
        json_out_begin_array(out);
        for (size_t i = 0; i < line->count; i++)
            json_at(out, &line->at[i]);
        json_out_end(out);
        json_out_end(out);
    }
    json_out_end(out);
}
