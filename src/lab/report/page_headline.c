/* page_headline.c - what was compared and what came out, in plain words; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

#include <math.h>
#include <string.h>

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
    html_number(text, least, 1);
    if (most - least >= 0.1) {
        str_add(text, " to ");
        html_number(text, most, 1);
    }
}

static void add_where(struct str *text, const struct facts *f, int count)
{
    if (f->load_count > 1 && (size_t)count == f->load_count)
        str_addf(text, " at all %d %s", count, f->again ? "settings" : "loads");
    else if (f->load_count > 1)
        str_addf(text, " at %d of %zu %s", count, f->load_count,
                 f->again ? "settings" : "loads");
}

/* What is not said above: a sentence for each other verdict. */
static void say_rest(struct page *p)
{
    static const struct {
        enum facts_verdict verdict;
        const char *words, *why;
    } rest[] = {
        {FACTS_UNCLEAR, "No clear difference to the strongest opponent is shown", "."},
        {FACTS_BREAKS, "Corgi breaks more promises than the strongest opponent",
         ", so no energy figure there is a saving."},
        {FACTS_NO_PEER, "Corgi keeps promises better than every opponent",
         ": there is no equal to compare its energy with."},
        {FACTS_NO_OPPONENT, "There is no conventional policy to compare Corgi with", "."},
    };

    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
        int count = count_verdicts(&p->facts, rest[i].verdict);
        struct str text = {0};

        if (count == 0)
            continue;
        str_add(&text, rest[i].words);
        add_where(&text, &p->facts, count);
        str_add(&text, rest[i].why);
        page_paragraph(p, str_text(&text));
        str_fini(&text);
    }
}

/* What can be said with a number comes first. */
static void say_first(struct str *text, const struct facts *f)
{
    static const struct {
        enum facts_verdict verdict;
        const char *before, *after;
    } clear[] = {
        {FACTS_SAVES, "saves ",
         " % energy against the strongest opponent that keeps its promises"},
        {FACTS_BETTER, "uses ",
         " % less energy than the opponent that keeps promises best, while keeping them "
         "better,"},
        {FACTS_COSTS, "uses ",
         " % more energy than the strongest opponent that keeps its promises"},
    };
    bool any = false;

    for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++) {
        int count = count_verdicts(f, clear[i].verdict);

        if (count == 0)
            continue;
        str_addf(text, "%s%s", any ? "; " : "Corgi ", clear[i].before);
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

static void say_what(struct page *p)
{
    const struct scenario_options *s = &p->in->options->scenario;
    struct str text = {0};

    if (p->facts.load_count == 0)
        return;
    str_addf(&text, "%zu %s compared on the same requests: ", p->facts.loads[0].count,
             p->facts.loads[0].count == 1 ? "policy" : "policies");
    if (s->trace)
        str_addf(&text, "the trace %s", s->trace);
    else
        str_addf(&text, "the workload “%s” at %zu %s", s->workload, p->facts.load_count,
                 p->facts.again             ? "settings"
                 : p->facts.load_count == 1 ? "load"
                                            : "loads");
    str_addf(&text, ", %d paired %s. ", p->facts.seeds,
             p->facts.seeds == 1 ? "seed" : "seeds");
    if (p->facts.seeds < 2)
        str_add(&text, "One seed gives no interval: take every number here as an "
                       "anecdote and run more seeds.");
    else
        str_add(&text, "Intervals are 95 %, over differences on the same seed.");
    str_add(p->out, "<p class=\"sub\">");
    html_text(p->out, str_text(&text));
    str_add(p->out, "</p>\n");
    str_fini(&text);
}

/* Whatever was saved: does Corgi reach its goals? */
static void say_goals(struct page *p)
{
    struct str text = {0};
    int missed = 0;

    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        missed += l->corgi >= 0 && (l->lines[l->corgi].sla_time.mean < GOALS_SLA_TIME ||
                                    l->lines[l->corgi].sla_jobs.mean < GOALS_SLA_JOBS);
    }
    if (missed == 0)
        return;
    str_addf(&text,
             "Corgi itself misses the goal of %.1f %% of job-time and %.0f %% of "
             "jobs with their promise kept",
             GOALS_SLA_TIME, GOALS_SLA_JOBS);
    add_where(&text, &p->facts, missed);
    str_add(&text, ".");
    page_paragraph(p, str_text(&text));
    str_fini(&text);
}

static void card_words(struct str *text, const struct facts_load *l)
{
    const struct facts_line *corgi = &l->lines[l->corgi < 0 ? 0 : l->corgi];
    const struct facts_line *other = l->reference < 0 ? NULL : &l->lines[l->reference];

    if (l->corgi < 0 || !other) {
        str_add(text, "Nothing to compare.");
        return;
    }
    str_addf(text, "Corgi against %s: ", other->row->policy->name);
    html_number(text, corgi->kwh.mean, html_digits(corgi->kwh.mean));
    str_add(text, " against ");
    html_number(text, other->kwh.mean, html_digits(other->kwh.mean));
    str_add(text, " kWh; job-time with the promise kept ");
    html_number(text, corgi->sla_time.mean, 2);
    str_add(text, " against ");
    html_number(text, other->sla_time.mean, 2);
    str_add(text, " %, jobs with it kept ");
    html_number(text, corgi->sla_jobs.mean, 1);
    str_add(text, " against ");
    html_number(text, other->sla_jobs.mean, 1);
    str_add(text, " %. ");
    if (l->verdict == FACTS_NO_PEER)
        str_add(text, "It keeps promises best of the others, but worse than Corgi: no "
                      "comparison of equals.");
    if (l->verdict == FACTS_BETTER)
        str_add(text, "It keeps promises best of the others: Corgi is better in both.");
    if (l->verdict == FACTS_BREAKS)
        str_add(text, "Corgi keeps promises worse, so this is no saving.");
    if (l->verdict == FACTS_UNCLEAR)
        str_add(text, "The interval holds zero: no difference is shown.");
}

static void card(struct page *p, const struct facts_load *l)
{
    static const char *const classes[FACTS_VERDICTS] = {[FACTS_SAVES] = "saves",
                                                        [FACTS_BETTER] = "saves",
                                                        [FACTS_COSTS] = "costs",
                                                        [FACTS_BREAKS] = "breaks"};
    const char *cls = classes[l->verdict] ? classes[l->verdict] : "unclear";
    struct str text = {0};

    str_add(p->out, "<li><span>");
    html_text(p->out, l->label);
    str_addf(p->out, "</span><span class=\"big %s\">", cls);
    if (l->corgi >= 0 && l->reference >= 0) {
        html_mean(p->out, l->lines[l->corgi].against, 1, true);
        str_add(p->out, " % energy");
    } else {
        str_add(p->out, "–");
    }
    str_add(p->out, "</span><span class=\"note\">");
    card_words(&text, l);
    html_text(p->out, str_text(&text));
    str_add(p->out, "</span></li>\n");
    str_fini(&text);
}

void page_headline(struct page *p)
{
    struct str text = {0};

    say_first(&text, &p->facts);
    str_add(p->out, "<header>\n<p class=\"kicker\">Corgi simulation report</p>\n");
    html_element(p->out, "h1", str_text(&text));
    str_add(p->out, "\n");
    say_rest(p);
    say_goals(p);
    say_what(p);
    if (p->facts.load_count > 0) {
        str_add(p->out, "<ul class=\"cards\">\n");
        for (size_t i = 0; i < p->facts.load_count; i++)
            card(p, &p->facts.loads[i]);
        str_add(p->out, "</ul>\n");
    }
    str_add(p->out, "</header>\n");
    str_fini(&text);
}
