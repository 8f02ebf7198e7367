/* page_notes.c - what the numbers rest on, how to read them, how to get them again; see
 * page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

struct note {
    const char *what, *text;
};

static void row(struct page *p, const char *what, const char *basis, const char *text)
{
    str_add(p->out, "<tr><th scope=\"row\">");
    html_text(p->out, what);
    str_add(p->out, "</th><td class=\"text\"><strong>");
    html_text(p->out, basis);
    str_add(p->out, "</strong>: ");
    html_text(p->out, text);
    str_add(p->out, "</td></tr>\n");
}

void page_basis(struct page *p)
{
    const struct sweep_options *o = p->in->options;
    struct str failures = {0};

    if (o->sim.node_mtbf_s > 0)
        str_addf(&failures,
                 "each node fails every %.0f days on average and is back after "
                 "%.1f hours; work since the last checkpoint is lost.",
                 o->sim.node_mtbf_s / 86400, o->sim.repair_s / 3600);
    else
        str_add(&failures, "none happened in these runs.");
    page_section(p, "basis", "What is measured and what is modelled");
    str_add(p->out, "<div class=\"scroll\"><table><tbody>\n");
    if (o->scenario.throughputs)
        row(p, "rates", "measured",
            "throughput tables of real GPUs, alone and in pairs.");
    else
        row(p, "rates", "modelled",
            "drawn from a synthetic world made from data sheets; no real GPU ran.");
    row(p, "each job's own factors", "modelled",
        "no two jobs are alike: hidden log-normal factors on every job's rates.");
    row(p, "power", "modelled",
        "idle and limit from data sheets, utilisation in between; hosts as the cluster "
        "says.");
    row(p, "requests", o->scenario.trace ? "from a trace" : "modelled",
        o->scenario.trace ? "arrivals and sizes as the file has them."
                          : "arrivals, sizes and requirements drawn from the seed.");
    row(p, "sleep", "modelled",
        o->sim.settings.sleep
            ? "every policy's idle nodes may sleep; waking takes time "
              "and power."
            : "switched off: idle nodes stay awake under every policy.");
    row(p, "failures", "modelled", str_text(&failures));
    row(p, "the scheduler", "real",
        "Corgi's rows run the loop of the daemon, on its own estimates and noisy "
        "measurements; it never sees the true rates.");
    str_add(p->out, "</tbody></table></div>\n");
    page_paragraph(p, "So this page says what would be saved if the model holds. It is "
                      "no measurement of your machines.");
    page_section_end(p);
    str_fini(&failures);
}

void page_reading(struct page *p)
{
    static const struct note notes[] = {
        {"the reference",
         "the conventional policy with the least energy among those that "
         "reach 99.3 % of job-time and 97 % of jobs, or that keep "
         "promises about as well as Corgi (0.5 points of job-time, 2 of "
         "jobs). Where none does, the one that keeps them best stands "
         "in, and the words say so."},
        {"a saving",
         "less energy than the reference, with the whole interval below zero, "
         "and promises kept at most that little worse."},
        {"±", "half of a 95 % interval (Student's t over the seeds). Differences are "
              "taken seed by seed first. A dash stands where there is no number."},
        {"SLA time", "share of judged job-time with the promised rate."},
        {"SLA jobs", "share of jobs whose promise was broken in at most 5 % of their "
                     "time; refused and failed jobs count as broken."},
        {"work",
         "hours of the fastest GPU type. Work per GPU-h counts what was done "
         "within the requirement per hour of a GPU with a job; per powered GPU-h, "
         "per hour of a GPU in a node that is awake."},
        {"oracle", "a planner told the true rates. It shows what is left to learn, and "
                   "cannot be had."},
    };

    page_section(p, "reading", "How to read this");
    str_add(p->out, "<dl>\n");
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        html_element(p->out, "dt", notes[i].what);
        html_element(p->out, "dd", notes[i].text);
        str_add(p->out, "\n");
    }
    str_add(p->out, "</dl>\n");
    page_section_end(p);
}

void page_again(struct page *p)
{
    const struct sweep_options *o = p->in->options;
    struct str text = {0};

    page_section(p, "again", "Do it again");
    str_addf(&text,
             "Seeds %llu to %llu, corgi %s. The same command gives the same "
             "numbers, and this page byte for byte%s.",
             (unsigned long long)o->scenario.seed,
             (unsigned long long)(o->scenario.seed + (uint64_t)p->facts.seeds - 1),
             CORGI_VERSION,
             p->in->timings ? " except for the decision times, which are the machine's"
                            : "");
    page_paragraph(p, str_text(&text));
    if (p->in->command) {
        str_add(p->out, "<pre><code>");
        html_text(p->out, p->in->command);
        str_add(p->out, "</code></pre>\n");
    }
    page_paragraph(p, "Beside this page: sim.json and rows.csv with every row, jobs.csv "
                      "with what became of every request.");
    page_section_end(p);
    str_fini(&text);
}
