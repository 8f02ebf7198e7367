/* goals_print.c - goals as a table and as JSON; see goals.h */
#include "lab/sim/goals.h"

#include <math.h>

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
