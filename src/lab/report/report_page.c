/* report_page.c - the page from its template: cmd_sim.c hands a sweep over and writes the
 * text to report.html
 *
 * report_template.html has the style, the prose and the heads of tables.  {{name}} stands
 * for what the slot of that name writes; from {{#name}} to {{/name}} is kept when the
 * slot says so, from {{^name}} when it does not. */
#include "lab/report/report_page.h"

#include "base/embed.h"
#include "lab/report/html.h"
#include "lab/report/report_gains.h"
#include "lab/report/report_private.h"
#include "lab/report/report_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

EMBED(report_template, CORGI_REPORT_TEMPLATE);

/* ---- head ---------------------------------------------------------------------------
 */

static void fill_headline(struct page *p)
{
    struct str text = {0};

    words_headline(&text, &p->facts);
    html_text(p->out, str_text(&text));
    str_fini(&text);
}

static void fill_verdicts(struct page *p)
{
    words_verdicts(p->out, &p->facts);
}

static void fill_compared(struct page *p)
{
    struct str text = {0};

    words_compared(&text, &p->facts, &p->in->options->scenario);
    html_text(p->out, str_text(&text));
    str_fini(&text);
}

static const struct sim_recording *places_of(const struct facts_line *line)
{
    const struct sim_recording *r = line->row->runs[0].recording;

    return r && r->places && r->device_count > 0 ? r : NULL;
}

/* The first run whose places were kept; NULL: none. */
static const struct sim_recording *any_places(const struct facts *facts)
{
    for (size_t i = 0; i < facts->load_count; i++)
        for (size_t k = 0; k < facts->loads[i].count; k++)
            if (places_of(&facts->loads[i].lines[k]))
                return places_of(&facts->loads[i].lines[k]);
    return NULL;
}

static void fill_cluster(struct page *p)
{
    const struct sim_recording *r = any_places(&p->facts);
    struct str text = {0};

    if (!r)
        return;
    str_add(&text, "The cluster: ");
    words_cluster(&text, r);
    str_add(&text, isnan(p->facts.loads[0].lines[0].row->load)
                       ? "."
                       : ". The load is the share of all GPUs' time that the requests "
                         "would take with every job alone on its GPUs, first come, first "
                         "served.");
    html_text(p->out, str_text(&text));
    str_fini(&text);
}

static void fill_part(struct page *p)
{
    if (p->in->part)
        str_add(p->out, p->in->part);
}

static void fill_cards(struct page *p)
{
    static const char *const looks[FACTS_VERDICTS] = {[FACTS_SAVES] = "saves",
                                                      [FACTS_BETTER] = "saves",
                                                      [FACTS_COSTS] = "costs",
                                                      [FACTS_BREAKS] = "breaks"};

    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];
        struct str text = {0};

        str_add(p->out, "<li>");
        html_element(p->out, "span", l->label);
        str_addf(p->out, "<span class=\"big %s\">",
                 looks[l->verdict] && p->facts.seeds > 1 ? looks[l->verdict] : "unclear");
        if (l->corgi >= 0 && l->reference >= 0)
            str_addf(p->out, "%s %% energy</span>",
                     html_mean(l->lines[l->corgi].against, 1, true).text);
        else
            str_add(p->out, "–</span>");
        words_load(&text, l);
        words_year(&text, l, p->in->price, p->in->co2_g);
        html_element(p->out, "span class=\"note\"", str_text(&text));
        str_add(p->out, "</li>\n");
        str_fini(&text);
    }
}

/* ---- charts -------------------------------------------------------------------------
 */

static void fill_role_key(struct page *p)
{
    static const char *const names[] = {"Corgi", "Corgi without one of its parts",
                                        "conventional policy",
                                        "knows the true rates: a bound, not a policy"};

    str_add(p->out, "<ul class=\"key\">");
    for (int role = FACTS_CORGI; role <= FACTS_ORACLE; role++) {
        str_add(p->out, "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">");
        svg_mark(p->out, chart_class((enum facts_role)role),
                 chart_shape((enum facts_role)role), 7, 7, 4.5, NULL);
        str_addf(p->out, "</svg>%s</li>", names[role]);
    }
    str_add(p->out, "</ul>");
}

static void fill_part_key(struct page *p)
{
    str_add(p->out, "<ul class=\"key\">");
    for (int i = 0; i < FACTS_PARTS; i++)
        str_addf(p->out,
                 "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect "
                 "class=\"part%d\" width=\"14\" height=\"14\"/></svg>%d. %s</li>",
                 i, i + 1, facts_part_name((enum facts_part)i));
    str_add(p->out, "</ul>");
}

/* One chart a load; four in two rows of two, not of three and one. */
static void fill_pairs(struct page *p)
{
    if (p->facts.load_count > 1 && p->facts.load_count % 3 == 1)
        str_add(p->out, " pairs");
}

static void begin_figure(struct page *p, const char *heading)
{
    str_add(p->out, "<figure>");
    html_element(p->out, "h3", heading);
    str_add(p->out, "\n");
}

static const struct chart_rows energy = {.kind = CHART_BARS,
                                         .title = "Energy",
                                         .unit = "energy, kWh",
                                         .value = offsetof(struct facts_line, kwh),
                                         .digits = -1};
static const struct chart_rows against = {.kind = CHART_DOTS,
                                          .title = "Energy against the reference",
                                          .unit = "energy above the reference, %",
                                          .value = offsetof(struct facts_line, against),
                                          .digits = 1,
                                          .sign = true,
                                          .least = -40,
                                          .most = 40};
static const struct chart_rows promises = {.kind = CHART_DOTS,
                                           .title = "Promises kept",
                                           .unit = "job-time with the promise kept, %",
                                           .value = offsetof(struct facts_line, sla_time),
                                           .digits = 2,
                                           .line = GOALS_SLA_TIME,
                                           .low = GOALS_SLA_TIME,
                                           .high = 100,
                                           .least = 90,
                                           .most = 100};
static const struct chart_rows parts = {.kind = CHART_PARTS,
                                        .title = "Where the energy goes",
                                        .unit = "energy, kWh",
                                        .value = offsetof(struct facts_line, kwh),
                                        .digits = -1};

static void fill_charts(struct page *p, const struct chart_rows *chart)
{
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        if (chart == &against && l->reference < 0)
            continue;
        begin_figure(p, l->label);
        chart_rows(p->out, p->next_id++, chart, l);
        str_add(p->out, "</figure>\n");
    }
}

static void fill_pareto(struct page *p)
{
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        begin_figure(p, l->label);
        chart_pareto(p->out, p->next_id++, l);
        if (l->count > CHART_NAMES_MAX) {
            str_add(p->out, "<figcaption>");
            for (size_t k = 0; k < l->count; k++) {
                str_addf(p->out, "%s%zu ", k ? ", " : "", k + 1);
                html_text(p->out, l->lines[k].row->policy->name);
            }
            str_add(p->out, "</figcaption>");
        }
        str_add(p->out, "</figure>\n");
    }
}

static void fill_gains(struct page *p)
{
    report_gains(p->out, &p->facts);
}

static void fill_learning_chart(struct page *p)
{
    chart_learning(p->out, p->next_id++, "Error of first estimates over time",
                   p->learning, p->learning_count);
}

/* ---- timeline -----------------------------------------------------------------------
 */

static void timeline_figure(struct page *p, const struct facts_load *l,
                            const struct facts_line *line)
{
    const struct sim_recording *r = places_of(line);
    struct str title = {0}, caption = {0};
    int shown;

    str_addf(&title, "%s, %s, first seed", line->row->policy->name, l->label);
    str_addf(&caption, "%zu stays of jobs on %d GPUs of %d nodes in %.1f days",
             r->spans.count, r->device_count, r->node_count, r->end_s / DAY_S);
    str_add(p->out, "<figure class=\"wide\">");
    html_element(p->out, "h3", str_text(&title));
    str_add(p->out, "\n<div class=\"scroll far\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Timeline\">\n");
    shown = chart_timeline(p->out, p->next_id++, str_text(&title), str_text(&caption), r);
    str_add(p->out, "</div>\n");
    if (shown < r->device_count)
        str_addf(&caption, "; %d of them are shown, of every type some whole nodes",
                 shown);
    str_addf(&caption, "%s.",
             isfinite(r->cut_s) ? "; the rest of the run was not recorded" : "");
    html_element(p->out, "figcaption", str_text(&caption));
    str_add(p->out, "</figure>\n");
    str_fini(&title);
    str_fini(&caption);
}

/* Corgi's run and the reference's, of the loads whose places were recorded; without p
 * only whether there is any. */
static bool timelines(const struct facts *facts, struct page *p)
{
    bool any = false;

    for (size_t i = 0; i < facts->load_count; i++) {
        const struct facts_load *l = &facts->loads[i];
        int shown[] = {l->corgi >= 0 ? l->corgi : 0, l->reference};

        for (int k = 0; k < 2; k++) {
            if (shown[k] < 0 || (k == 1 && shown[1] == shown[0]) ||
                !places_of(&l->lines[shown[k]]))
                continue;
            any = true;
            if (p)
                timeline_figure(p, l, &l->lines[shown[k]]);
        }
    }
    return any;
}

static void fill_timelines(struct page *p)
{
    timelines(&p->facts, p);
}

/* ---- notes --------------------------------------------------------------------------
 */

static void fill_failures(struct page *p)
{
    const struct sim_options *o = &p->in->options->sim;

    if (o->node_mtbf_s > 0)
        str_addf(p->out,
                 "each node fails every %.0f days on average and is back after %.1f "
                 "hours; work since the last checkpoint is lost.",
                 o->node_mtbf_s / DAY_S, o->repair_s / 3600);
    else
        str_add(p->out, "none happened in these runs.");
}

static void fill_seeds(struct page *p)
{
    unsigned long long first = p->in->options->scenario.seed;

    str_addf(p->out, "Seeds %llu to %llu, corgi %s", first,
             first + (unsigned long long)p->facts.seeds - 1, CORGI_VERSION);
}

static void fill_command(struct page *p)
{
    if (!p->in->command)
        return;
    str_add(p->out, "<pre>");
    html_element(p->out, "code", p->in->command);
    str_add(p->out, "</pre>");
}

/* ---- template -----------------------------------------------------------------------
 */

enum condition {
    NONE,
    ONE,
    BY_PROTOCOL,
    GAINS,
    INGREDIENTS,
    LEARNING,
    LOADS,
    SLEEP,
    THROUGHPUTS,
    TIMELINE,
    TIMINGS,
    TRACE,
    WATTS,
};

static bool holds(struct page *p, enum condition condition)
{
    const struct sweep_options *o = p->in->options;
    const bool values[] = {[ONE] = p->facts.load_count == 1,
                           [BY_PROTOCOL] = p->goals.by_protocol,
                           [GAINS] = report_gains(NULL, &p->facts),
                           [INGREDIENTS] = tables_have_ingredients(&p->facts),
                           [LEARNING] = p->learning_count > 0,
                           [LOADS] = p->facts.load_count > 0,
                           [SLEEP] = o->sim.settings.sleep,
                           [THROUGHPUTS] = o->scenario.throughputs,
                           [TIMELINE] = timelines(&p->facts, NULL),
                           [TIMINGS] = p->in->timings,
                           [TRACE] = o->scenario.trace || o->scenario.arrivals ||
                                     o->scenario.slurm,
                           [WATTS] = o->scenario.watts};

    return values[condition];
}

static const struct template_slot {
    const char *name;
    void (*fill)(struct page *p);
    const struct chart_rows *chart;
    enum condition condition; /* of {{#name}} and {{^name}} */
} slots[] = {
    {"headline", .fill = fill_headline},
    {"verdicts", .fill = fill_verdicts},
    {"compared", .fill = fill_compared},
    {"cluster", .fill = fill_cluster},
    {"cards", .fill = fill_cards},
    {"part", .fill = fill_part},
    {"one", .condition = ONE},
    {"loads", .condition = LOADS},
    {"timings", .condition = TIMINGS},
    {"rows", .fill = tables_rows},
    {"by_protocol", .condition = BY_PROTOCOL},
    {"goals", .fill = tables_goals},
    {"role_key", .fill = fill_role_key},
    {"part_key", .fill = fill_part_key},
    {"pairs", .fill = fill_pairs},
    {"energy_charts", .chart = &energy},
    {"against_charts", .chart = &against},
    {"promise_charts", .chart = &promises},
    {"part_charts", .chart = &parts},
    {"pareto_charts", .fill = fill_pareto},
    {"gains", .condition = GAINS},
    {"gains_table", .fill = fill_gains},
    {"ingredients", .condition = INGREDIENTS},
    {"ingredient_rows", .fill = tables_ingredients},
    {"learning", .condition = LEARNING},
    {"learner", .fill = tables_learner},
    {"learning_chart", .fill = fill_learning_chart},
    {"learning_rows", .fill = tables_learning_rows},
    {"trial_rows", .fill = tables_trial_rows},
    {"quarter_rows", .fill = tables_quarter_rows},
    {"timeline", .condition = TIMELINE},
    {"timelines", .fill = fill_timelines},
    {"throughputs", .condition = THROUGHPUTS},
    {"trace", .condition = TRACE},
    {"watts", .condition = WATTS},
    {"sleep", .condition = SLEEP},
    {"failures", .fill = fill_failures},
    {"seeds", .fill = fill_seeds},
    {"command", .fill = fill_command},
};

static const struct template_slot *find_slot(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (strlen(slots[i].name) == length && !strncmp(slots[i].name, name, length))
            return &slots[i];
    abort(); /* our own template: a mistake of the build */
}

/* Where the text goes on behind the {{...}} that begins here. */
static const char *fill_slot(struct page *p, const char *at)
{
    const char *name = at + 2 + (strchr("#^/", at[2]) != NULL);
    const char *end = strstr(name, "}}");
    const struct template_slot *slot = find_slot(name, (size_t)(end - name));
    char close[64];

    if (at[2] == '#' || at[2] == '^') {
        if (holds(p, slot->condition) == (at[2] == '#'))
            return end + 2;
        snprintf(close, sizeof(close), "{{/%s}}", slot->name);
        return strstr(end, close) + strlen(close);
    }
    if (slot->chart)
        fill_charts(p, slot->chart);
    else if (at[2] != '/')
        slot->fill(p);
    return end + 2;
}

void report_page(struct str *out, const struct report_input *input)
{
    const char *at = (const char *)report_template, *next;
    struct page p = {.out = out, .in = input, .next_id = 1};
    double percent[QUARTERS], at_s[QUARTERS];

    facts_init(&p.facts, input->sweep);
    goals_init(&p.goals, input->sweep, input->options);
    for (size_t i = 0; i < p.facts.load_count && p.learning_count < CHART_MAX_LINES; i++)
        if (facts_learning(&p.facts.loads[i], QUARTERS, percent, at_s))
            p.learning[p.learning_count++] = &p.facts.loads[i];
    while ((next = strstr(at, "{{"))) {
        str_add_bytes(out, at, (size_t)(next - at));
        at = fill_slot(&p, next);
    }
    str_add(out, at);
    goals_fini(&p.goals);
    facts_fini(&p.facts);
}
