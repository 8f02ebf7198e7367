/* report_words.c - what came out, in plain words: sentences of the page's head, which
 * report_page.c puts into its template */
#include "lab/report/report_words.h"

#include "lab/report/html.h"
#include "loop/cluster.h"

#include <math.h>

#define YEAR_S (365.25 * 86400)

static int count_verdicts(const struct facts *f, enum facts_verdict verdict)
{
    int count = 0;

    for (size_t i = 0; i < f->load_count; i++)
        count += f->loads[i].verdict == verdict;
    return count;
}

/* "5.1" or "5.1 to 8.3": the means of the loads with this verdict. */
static void add_range(struct str *text, const struct facts *f, enum facts_verdict verdict)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < f->load_count; i++) {
        const struct facts_load *l = &f->loads[i];

        if (l->verdict != verdict)
            continue;
        least = fmin(least, fabs(l->lines[l->corgi].against.mean));
        most = fmax(most, fabs(l->lines[l->corgi].against.mean));
    }
    str_add(text, html_number(least, 1).text);
    if (most - least >= 0.1)
        str_addf(text, " to %s", html_number(most, 1).text);
}

static void add_where(struct str *text, const struct facts *f, int count)
{
    if (f->load_count > 1 && (size_t)count == f->load_count)
        str_addf(text, " at all %d %s", count, f->again ? "settings" : "loads");
    else if (f->load_count > 1)
        str_addf(text, " at %d of %zu %s", count, f->load_count,
                 f->again ? "settings" : "loads");
}

/* What can be said with a number comes first. */
void words_headline(struct str *text, const struct facts *f)
{
    static const struct {
        enum facts_verdict verdict;
        const char *before, *after;
    } clear[] = {
        {FACTS_SAVES, "saves ",
         " % energy against the strongest opponent that keeps its promises"},
        {FACTS_BETTER, "uses ",
         " % less energy than the opponent that keeps promises best, and keeps more of "
         "them"},
        {FACTS_COSTS, "uses ",
         " % more energy than the strongest opponent that keeps its promises"},
    };
    bool any = false;

    for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++) {
        int count = count_verdicts(f, clear[i].verdict);

        if (count == 0)
            continue;
        str_addf(text, "%s%s",
                 any            ? "; "
                 : f->seeds < 2 ? "In a single run Corgi "
                                : "Corgi ",
                 clear[i].before);
        add_range(text, f, clear[i].verdict);
        str_add(text, clear[i].after);
        add_where(text, f, count);
        any = true;
    }
    if (f->load_count == 0)
        str_add(text, "Nothing was simulated");
    else if (count_verdicts(f, FACTS_NO_CORGI))
        str_add(text, "Corgi was not among the policies that were compared");
    else if (!any)
        str_add(text, "No energy saving of Corgi is claimed");
    str_add(text, ".");
}

void words_verdicts(struct str *out, const struct facts *f)
{
    static const struct {
        enum facts_verdict verdict;
        const char *words, *why;
    } rest[] = {
        {FACTS_UNCLEAR, "No clear difference to the strongest opponent is shown", "."},
        {FACTS_BREAKS, "Corgi breaks more promises than the strongest opponent",
         ", so no energy figure there is a saving."},
        {FACTS_NO_PEER, "No opponent keeps promises as well as Corgi",
         ": there is no equal to compare its energy with."},
        {FACTS_NO_OPPONENT, "There is no conventional policy to compare Corgi with", "."},
    };

    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
        int count = count_verdicts(f, rest[i].verdict);

        if (count == 0)
            continue;
        str_addf(out, "<p>%s", rest[i].words);
        add_where(out, f, count);
        str_addf(out, "%s</p>\n", rest[i].why);
    }
}

/* "16 k80, 16 p100-16 and 16 v100-16 in 12 nodes", from a run whose places were kept. */
void words_cluster(struct str *text, const struct sim_recording *r)
{
    int counts[CLUSTER_MAX_TYPES], types[CLUSTER_MAX_TYPES], count = 0;

    for (int d = 0; d < r->device_count; d++) {
        int t = 0;

        while (t < count && types[t] != r->devices[d].type)
            t++;
        if (t == count) {
            types[count] = r->devices[d].type;
            counts[count++] = 0;
        }
        counts[t]++;
    }
    for (int t = 0; t < count; t++)
        str_addf(text, "%s%d %s",
                 t == 0          ? ""
                 : t + 1 < count ? ", "
                                 : " and ",
                 counts[t], intern_name(r->names, types[t]));
    str_addf(text, " in %d %s", r->node_count, r->node_count == 1 ? "node" : "nodes");
}

void words_compared(struct str *text, const struct facts *f,
                    const struct scenario_options *s)
{
    size_t policies = f->loads[0].count;

    str_addf(text, "%zu %s compared on the same requests: ", policies,
             policies == 1 ? "policy" : "policies");
    if (s->trace)
        str_addf(text, "the trace %s", s->trace);
    else if (s->slurm)
        str_add(text, "the jobs of your Slurm cluster");
    else if (s->arrivals)
        str_addf(text, "the arrivals of %s", s->arrivals);
    if (!s->trace && !s->as_is && (s->slurm || s->arrivals))
        str_add(text, " at ");
    if (s->trace || s->as_is)
        str_add(text, ", as they came");
    else if (s->slurm || s->arrivals)
        str_addf(text, "%zu %s", f->load_count, f->load_count == 1 ? "load" : "loads");
    else
        str_addf(text, "the workload “%s” at %zu %s", s->workload, f->load_count,
                 f->again             ? "settings"
                 : f->load_count == 1 ? "load"
                                      : "loads");
    str_addf(text, ", %d paired %s. %s", f->seeds, f->seeds == 1 ? "seed" : "seeds",
             f->seeds < 2 ? "One seed gives no interval: take every number here as an "
                            "anecdote and run more seeds."
                          : "Intervals are 95 %, over differences on the same seed.");
}

void words_load(struct str *text, const struct facts_load *l)
{
    static const char *const judged[FACTS_VERDICTS] = {
        [FACTS_NO_PEER] =
            "It keeps promises best of the others, but worse than Corgi: no "
            "comparison of equals.",
        [FACTS_BETTER] = "It keeps promises best of the others: Corgi is better in both.",
        [FACTS_BREAKS] = "Corgi keeps promises worse, so this is no saving.",
        [FACTS_UNCLEAR] = "The interval holds zero: no difference is shown."};
    const struct facts_line *corgi, *other;

    if (l->corgi < 0 || l->reference < 0) {
        str_add(text, "Nothing to compare.");
        return;
    }
    corgi = &l->lines[l->corgi];
    other = &l->lines[l->reference];
    str_addf(text,
             "Corgi against %s: %s against %s kWh; job-time with the promise kept %s "
             "against %s %%, jobs with it kept %s against %s %%. %s",
             other->row->policy->name,
             html_number(corgi->kwh.mean, html_digits(corgi->kwh.mean)).text,
             html_number(other->kwh.mean, html_digits(other->kwh.mean)).text,
             html_number(corgi->sla_time.mean, 2).text,
             html_number(other->sla_time.mean, 2).text,
             html_number(corgi->sla_jobs.mean, 1).text,
             html_number(other->sla_jobs.mean, 1).text,
             judged[l->verdict] ? judged[l->verdict] : "");
}

void words_year(struct str *text, const struct facts_load *l, double price, double co2_g)
{
    const struct facts_line *corgi;
    double end_s = 0, kwh;

    if (l->verdict != FACTS_SAVES && l->verdict != FACTS_BETTER &&
        l->verdict != FACTS_COSTS)
        return; /* there is no difference to speak of */
    corgi = &l->lines[l->corgi];
    for (int s = 0; s < corgi->row->seeds; s++)
        end_s += corgi->row->runs[s].end_s / corgi->row->seeds;
    if (!(end_s > 0))
        return;
    kwh = (l->lines[l->reference].kwh.mean - corgi->kwh.mean) * YEAR_S / end_s;
    str_addf(text, " In a year of such days: %.0f kWh %s", fabs(kwh),
             kwh >= 0 ? "less" : "more");
    if (price > 0)
        str_addf(text, ", %.0f at %g a kWh", fabs(kwh) * price, price);
    if (co2_g > 0)
        str_addf(text, ", %.1f t of CO2 at %g g a kWh", fabs(kwh) * co2_g / 1e6, co2_g);
    str_add(text, ".");
}
