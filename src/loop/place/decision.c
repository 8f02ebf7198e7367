/* decision.c - loop_round_end() calls it after a plan was applied, for each action and
 * each job that falls short; what it fills goes to the daemon's ledger or the
 * simulator's */
#include "loop/place/decision.h"

#include "base/str.h"
#include "loop/estimate/lengths.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/node_access.h"
#include "loop/requirement.h"
#include "loop/unplaced.h"

#include <math.h>
#include <string.h>

/* ---- what is said ------------------------------------------------------------------ */

const char *decision_sentence(enum decision_reason reason)
{
    static const char *const sentences[DECISION_REASONS] = {
        [DECISION_START_KEEPS] = "all jobs together cost the least with it here, and its "
                                 "{needed}/s are kept: {sure}/s at {confidence} % "
                                 "confidence, {watts} W",
        [DECISION_START_EFFORT] = "best effort: all jobs together cost the least with it "
                                  "here, {rate}/s for {watts} W",
        [DECISION_START_SHORT] = "no free place keeps its {needed}/s at {confidence} % "
                                 "confidence: this one gives {sure}/s, for {watts} W",
        [DECISION_START_INSTEAD] =
            "no free place kept its {needed}/s beyond its grace time: job {stopped} was "
            "stopped for it, and it has {sure}/s at {confidence} % confidence",
        [DECISION_MOVE_PROMISE] =
            "to keep its {needed}/s: {sure}/s here at {confidence} % "
            "confidence, {before}/s measured where it was",
        [DECISION_MOVE_COST] =
            "costs less: {watts} W for {rate}/s here, {watts_before} W "
            "for {before}/s where it was",
        [DECISION_MOVE_PLAN] =
            "all jobs together cost less with it here: {watts} W for "
            "{rate}/s here, {watts_before} W for {before}/s where it was",
        [DECISION_STOP] = "stopped to make room; it goes on later",
        [DECISION_STOP_FOR] =
            "stopped for job {by}, which goes before it and had waited beyond its grace "
            "time; it goes on later",
        [DECISION_CAP] = "power limit of {cap} W: the work there takes the least energy "
                         "with it",
        [DECISION_UNCAP] = "power limit lifted",
        [DECISION_SLOW] = "measured {before}/s, below the promise of {needed}/s: {help}",
        [DECISION_LATE] = "answers after {latency} s, later than the promised "
                          "{latency_asked} s: {help}",
    };

    return sentences[reason];
}

const char *decision_help(enum plan_help help)
{
    static const char *const helps[] = {
        [HELP_MOVED] = "it goes to a better place",
        [HELP_NEIGHBOUR] = "a job beside it goes elsewhere",
        [HELP_UNCAPPED] = "the power limit is lifted",
        [HELP_NOTHING] = "no better place is free, so it keeps what it has",
        [HELP_FIXED] = "it may not be moved, so it keeps what it has",
    };

    return helps[help];
}

const char *decision_verdict(enum decision_verdict verdict)
{
    static const char *const words[DECISION_VERDICTS] = {
        "possible", "too_little_memory", "too_slow", "taken", "not_allowed"};

    return words[verdict];
}

const char *decision_why_not(enum decision_verdict verdict)
{
    static const char *const sentences[DECISION_VERDICTS] = {
        "it could run there", "too little memory: it fits with {fits} % probability",
        "too slow: {sure}/s at {confidence} % confidence, {needed}/s are needed",
        "fast enough, none free", "on no node it may use for as long as its time limit"};

    return sentences[verdict];
}

/* Figures by name, as people read them. */
struct figure {
    const char *name;
    double value;
};

static void add_figure(struct str *out, double v)
{
    double size = fabs(v);

    if (!isfinite(v))
        str_add(out, "?");
    else if (size > 0 && size < 0.001)
        str_add(out, "less than 0.001");
    else if (fabs(v - round(v)) < 1e-9)
        str_addf(out, "%.0f", v);
    else
        str_addf(out, "%.*f", size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3, v);
}

/* The sentence with its figures; what comes without a name is {help}. */
static void say(char *text, size_t size, const char *sentence, const char *help,
                const struct figure *figures, size_t count)
{
    struct str out = {0};

    while (*sentence) {
        size_t plain = strcspn(sentence, "{"), name = strcspn(sentence + plain, "}");
        size_t i = 0;

        str_add_bytes(&out, sentence, plain);
        if (!sentence[plain])
            break;
        while (i < count && (strlen(figures[i].name) != name - 1 ||
                             strncmp(figures[i].name, sentence + plain + 1, name - 1)))
            i++;
        if (i < count)
            add_figure(&out, figures[i].value);
        else
            str_add(&out, help);
        sentence += plain + name + 1;
    }
    str_copy(text, size, str_text(&out));
    str_fini(&out);
}

#define SAY(d, why_, help_, ...)                                                         \
    do {                                                                                 \
        const struct figure f_[] = {__VA_ARGS__};                                        \
        (d)->why = (why_);                                                               \
        say((d)->reason, sizeof((d)->reason), decision_sentence(why_), help_, f_,        \
            sizeof(f_) / sizeof(f_[0]));                                                 \
    } while (0)

/* ---- what is believed -------------------------------------------------------------- */

/* What is believed of a job where it sits. */
struct outlook {
    struct estimate rate;
    double watts;  /* of all its devices, its own share */
    double joules; /* for the rest of the job; NaN: not known */
};

static double seconds_left(const struct decision_ground *g,
                           const struct job_status *status, double rate)
{
    if (!lengths_known(g->lengths, &status->job))
        return NAN;
    return lengths_left_s(g->lengths, status, rate, 0.5, g->now_s);
}

static struct combination combination_on(const struct decision_ground *g, int device)
{
    const struct device *d = &g->cluster->devices[device];
    struct combination where = {
        .type = d->type, .cap_watts = d->cap_watts, .count = d->job_count};

    for (int k = 0; k < d->job_count; k++) {
        const struct job_status *other = jobs_get(g->jobs, d->jobs[k]);

        where.members[k] =
            (struct member){.job = &other->job,
                            .nodes = cluster_nodes_spanned(g->cluster, other->devices,
                                                           other->device_count),
                            .demand = requirement_demand(other)};
    }
    return where;
}

/* The slowest device sets the pace of a gang. */
static struct outlook outlook_here(const struct decision_ground *g,
                                   const struct job_status *status)
{
    struct outlook o = {.rate = {.value = INFINITY}};

    for (int i = 0; i < status->device_count; i++) {
        struct combination where = combination_on(g, status->devices[i]);
        struct prediction p;
        int at = 0;

        while (where.members[at].job != &status->job)
            at++;
        predict(g->model, &where, &p);
        if (p.rate[at].value < o.rate.value)
            o.rate = p.rate[at];
        o.watts += p.watts.value / where.count;
    }
    o.joules = o.watts * seconds_left(g, status, o.rate.value);
    return o;
}

/* Has the type enough devices where the job may begin, or such that are also free? */
static bool enough_devices(const struct decision_ground *g, const struct job *job,
                           int type, bool free)
{
    const struct cluster *c = g->cluster;
    int count = 0;

    for (int d = 0; d < c->device_count && count < job->devices; d++)
        count += c->devices[d].type == type && !c->devices[d].failed &&
                 node_access_allows(c, job, c->devices[d].node, g->now_s) &&
                 (!free || (c->devices[d].job_count == 0 && cluster_device_usable(c, d)));
    return count == job->devices;
}

static void alternative(const struct decision_ground *g, const struct job_status *status,
                        const struct outlook *here, int type,
                        struct decision_alternative *out)
{
    struct prediction p = predict_alone_now(g->model, status, type);
    double confidence = requirement_confidence(g->settings, &status->job);
    double watts = p.watts.value * status->job.devices;

    *out = (struct decision_alternative){
        .type = type,
        .rate = p.rate[0].value,
        .sure = estimate_at_confidence(&p.rate[0], confidence),
        .needed = requirement_rate_now(status, g->now_s),
        .watts = watts,
        .fits = p.fits,
        .more_watts = watts - here->watts,
        .more_joules = watts * seconds_left(g, status, p.rate[0].value) - here->joules,
    };
    if (p.fits < PREDICT_FITS_LEAST)
        out->verdict = DECISION_TOO_LITTLE_MEMORY;
    else if (out->sure < out->needed)
        out->verdict = DECISION_TOO_SLOW;
    else if (!enough_devices(g, &status->job, type, false))
        out->verdict = DECISION_NOT_ALLOWED;
    else if (!enough_devices(g, &status->job, type, true))
        out->verdict = DECISION_TAKEN;
    if (out->verdict == DECISION_TAKEN &&
        unplaced_leaving(out->text, sizeof(out->text), &status->job, type, g->cluster))
        return;
    say(out->text, sizeof(out->text), decision_why_not(out->verdict), "",
        (const struct figure[]){{"fits", 100 * p.fits},
                                {"sure", out->sure},
                                {"needed", out->needed},
                                {"confidence", 100 * confidence}},
        4);
}

/* Of a job that runs, all but the very place it has. */
static void list_alternatives(const struct decision_ground *g,
                              const struct job_status *status, const struct outlook *here,
                              struct decision *out)
{
    const struct device *d =
        status->device_count > 0 ? &g->cluster->devices[status->devices[0]] : NULL;
    bool alone = d && d->job_count == 1 && d->cap_watts == 0;

    for (int t = 0; t < g->cluster->type_count; t++)
        if (requirement_allows_type(&status->job, t) && !(alone && t == d->type) &&
            out->alternative_count < DECISION_ALTERNATIVES)
            alternative(g, status, here, t, &out->alternatives[out->alternative_count++]);
}

struct decision_before decision_look(const struct decision_ground *g,
                                     const struct job_status *status)
{
    struct outlook here = outlook_here(g, status);

    return (struct decision_before){status->job.id, here.rate.value, here.watts};
}

/* ---- decisions --------------------------------------------------------------------- */

static void begin(const struct decision_ground *g, uint64_t job, const char *kind,
                  struct decision *out)
{
    *out = (struct decision){.job = job,
                             .kind = kind,
                             .at_s = g->now_s,
                             .rate = NAN,
                             .watts = NAN,
                             .joules = NAN};
}

static const struct plan_mend *mend_of(const struct decision_ground *g, uint64_t job)
{
    for (size_t i = 0; g->plan && i < g->plan->mend_count; i++)
        if (g->plan->mends[i].job == job && g->plan->mends[i].help == HELP_MOVED)
            return &g->plan->mends[i];
    return NULL;
}

static struct decision_before before_of(const struct decision_ground *g, uint64_t job)
{
    for (size_t i = 0; i < g->before_count; i++)
        if (g->before[i].job == job)
            return g->before[i];
    return (struct decision_before){job, NAN, NAN};
}

/* Energy for a step, or for the time of a service. */
static bool costs_less(const struct job *job, const struct outlook *here,
                       const struct decision_before *before)
{
    if (job->kind == JOB_INFERENCE)
        return here->watts < before->watts;
    return here->watts / here->rate.value < before->watts / before->rate;
}

static enum decision_reason reason_of(const struct decision_ground *g,
                                      const struct job_status *status, bool moved,
                                      const struct outlook *here,
                                      const struct decision_before *before)
{
    double confidence = requirement_confidence(g->settings, &status->job);

    if (moved && mend_of(g, status->job.id))
        return DECISION_MOVE_PROMISE;
    if (moved)
        return costs_less(&status->job, here, before) ? DECISION_MOVE_COST
                                                      : DECISION_MOVE_PLAN;
    if (!(requirement_rate_now(status, g->now_s) > 0))
        return DECISION_START_EFFORT;
    return estimate_at_confidence(&here->rate, confidence) >=
                   requirement_rate_now(status, g->now_s)
               ? DECISION_START_KEEPS
               : DECISION_START_SHORT;
}

/* The first job that was stopped for this one; 0: none was. */
static uint64_t stopped_for(const struct decision_ground *g, uint64_t job)
{
    for (size_t i = 0; g->plan && i < g->plan->seat_count; i++)
        if (g->plan->seats[i].by == job)
            return g->plan->seats[i].job;
    return 0;
}

static void fill_placed(const struct decision_ground *g, const struct action *a,
                        struct decision *out)
{
    const struct job_status *status = jobs_get(g->jobs, a->job);
    struct outlook here = outlook_here(g, status);
    bool moved = a->kind == ACTION_MOVE;
    double confidence = requirement_confidence(g->settings, &status->job);
    struct decision_before before = before_of(g, a->job);
    const struct plan_mend *mend = mend_of(g, a->job);
    uint64_t stopped = moved ? 0 : stopped_for(g, a->job);

    begin(g, a->job, moved ? "move" : "start", out);
    out->device_count = a->device_count;
    memcpy(out->devices, a->devices, sizeof(out->devices));
    out->rate = here.rate.value;
    out->watts = here.watts;
    out->joules = here.joules;
    SAY(out,
        stopped ? DECISION_START_INSTEAD : reason_of(g, status, moved, &here, &before),
        "", {"needed", mend ? mend->needed : requirement_rate_now(status, g->now_s)},
        {"sure", estimate_at_confidence(&here.rate, confidence)},
        {"confidence", 100 * confidence}, {"rate", here.rate.value},
        {"watts", here.watts}, {"before", mend ? mend->rate : before.rate},
        {"watts_before", before.watts}, {"stopped", (double)stopped});
    list_alternatives(g, status, &here, out);
}

void decision_of_waiting(const struct decision_ground *g, const struct job_status *status,
                         struct decision *out)
{
    const struct outlook nowhere = {.watts = NAN, .joules = NAN};

    begin(g, status->job.id, "wait", out);
    list_alternatives(g, status, &nowhere, out);
}

static bool fill_cap(const struct decision_ground *g, const struct action *a,
                     struct decision *out)
{
    const struct device *d = &g->cluster->devices[a->device];

    if (d->job_count == 0)
        return false;
    begin(g, d->jobs[0], "cap", out);
    out->device_count = 1;
    out->devices[0] = a->device;
    SAY(out, a->cap_watts > 0 ? DECISION_CAP : DECISION_UNCAP, "", {"cap", a->cap_watts});
    return true;
}

bool decision_of_action(const struct decision_ground *g, const struct action *a,
                        struct decision *out)
{
    switch (a->kind) {
    case ACTION_START:
    case ACTION_MOVE:
        fill_placed(g, a, out);
        return true;
    case ACTION_STOP:
        begin(g, a->job, "stop", out);
        SAY(out, a->by ? DECISION_STOP_FOR : DECISION_STOP, "", {"by", (double)a->by});
        return true;
    case ACTION_CAP:
        return fill_cap(g, a, out);
    case ACTION_WAKE:
    case ACTION_SLEEP:
        break;
    }
    return false;
}

void decision_of_mend(const struct decision_ground *g, const struct plan_mend *mend,
                      struct decision *out)
{
    static const char *const names[] = {"move_job", "move_neighbour", "lift_cap", "none",
                                        "none"};
    const struct job_status *status = jobs_get(g->jobs, mend->job);
    double asked_s = status->job.need.latency_s;
    bool late = asked_s > 0 && status->pace.latency_s > asked_s;

    begin(g, mend->job, "guard", out);
    out->help = names[mend->help];
    out->needed = mend->needed;
    out->rate = mend->rate;
    out->device_count = status->device_count;
    memcpy(out->devices, status->devices, sizeof(out->devices));
    SAY(out, late ? DECISION_LATE : DECISION_SLOW, decision_help(mend->help),
        {"before", mend->rate}, {"needed", mend->needed},
        {"latency", status->pace.latency_s}, {"latency_asked", asked_s});
}
