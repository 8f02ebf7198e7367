/* energy_books.c - see energy_books.h */
#include "service/energy_books.h"

#include "base/err.h"
#include "base/normal.h"
#include "loop/estimate/predict.h"
#include "loop/loop_admin.h"
#include "service/decisions.h"
#include "service/tx.h"
#include "service/views.h"
#include "store/store_energy.h"
#include "store/telemetry.h"

#include <math.h>

#define METER_ERROR 0.03 /* half a 90 % interval of what a meter says, as a share */
#define MODEL_ERROR 0.20 /* and of what a model says */

struct part { /* of one job in the energy of its device */
    struct record *record;
    double added;  /* watts it is believed to add */
    double spread; /* half a 90 % interval of that */
    double joules, error;
};

static void add_part(struct service *s, struct record *r, int type, struct part *parts,
                     int *count)
{
    double idle = loop_cluster(s->loop)->types[type].idle_watts;
    struct prediction p;

    if (*count == LOOP_MAX_SHARE)
        return;
    p = predict_alone(service_model(s), record_job(r), type);
    if (r->phase == PHASE_ENDED) /* asking has made the model know it again */
        service_model(s)->ops->end(service_model(s)->self, record_job(r));
    parts[(*count)++] = (struct part){.record = r,
                                      .added = fmax(p.watts.value - idle, 1),
                                      .spread = (p.watts.high - p.watts.low) / 2};
}

static bool is_leaving(const struct record *r, int device)
{
    for (int i = 0; r->leaving_attempt > 0 && i < r->leaving_count; i++)
        if (r->leaving_devices[i] == device)
            return true;
    return false;
}

/* Who runs there, and who was told to leave and had not yet: the loop has given the
 * device to others, but the energy up to now is his. */
static int find_parts(struct service *s, int device, struct part *parts)
{
    const struct device *d = &loop_cluster(s->loop)->devices[device];
    size_t all_count;
    struct record *const *all = records_all(s->records, &all_count);
    int count = 0;

    for (int i = 0; i < d->job_count; i++) {
        struct record *r = records_get(s->records, d->jobs[i]);

        if (r && r->phase == PHASE_RUNNING && !is_leaving(r, device))
            add_part(s, r, d->type, parts, &count);
    }
    for (size_t i = 0; i < all_count && s->devices[device].leaving > 0; i++)
        if (is_leaving(all[i], device))
            add_part(s, all[i], d->type, parts, &count);
    return count;
}

/* A share is sure when the job is alone; else as sure as the powers it is made from. */
static void split(struct part *parts, int count, double joules, double idle_joules,
                  double relative_error)
{
    double dynamic = fmax(0, joules - idle_joules), sum = 0;

    idle_joules = fmin(idle_joules, joules);
    for (int i = 0; i < count; i++)
        sum += parts[i].added;
    for (int i = 0; i < count; i++) {
        double share = parts[i].added / sum;
        double unsure = count > 1 ? fmin(1, parts[i].spread / parts[i].added) *
                                        (1 - share) * share * dynamic
                                  : 0;

        parts[i].joules = idle_joules / count + share * dynamic;
        parts[i].error = hypot(unsure, relative_error * parts[i].joules);
    }
}

static double share_error(const struct engine_event *e, const struct engine_share *share)
{
    return e->modelled ? MODEL_ERROR * share->joules
                       : NORMAL_90_SHORT * share->error_joules;
}

/* What the engine has seen of each job; what is idle's is shared by those who are there.
 */
static void split_as_told(struct part *parts, int count, const struct engine_event *e)
{
    double idle = e->joules;

    for (int i = 0; i < e->share_count; i++)
        idle -= e->shares[i].joules;
    idle = fmax(idle, 0); /* a rounding below */
    for (int i = 0; i < count; i++) {
        parts[i].joules = idle / count;
        parts[i].error = (e->modelled ? MODEL_ERROR : METER_ERROR) * parts[i].joules;
        for (int k = 0; k < e->share_count; k++) {
            if (e->shares[k].job != parts[i].record->id)
                continue;
            parts[i].joules += e->shares[k].joules;
            parts[i].error += share_error(e, &e->shares[k]);
        }
    }
}

static void book_host(struct service *s, struct store_batch *batch, int device,
                      double at_s)
{
    const struct cluster *c = loop_cluster(s->loop);
    int n = c->devices[device].node;
    const struct node *node = &c->nodes[n];
    struct node_more *more = &s->nodes[n];
    double watts = node->state == NODE_ASLEEP ? node->sleep_watts : node->host_watts;
    double joules = watts * fmax(0, at_s - more->host_s);

    if (node->first_device != device || node->state == NODE_DOWN)
        return;
    more->host_s = at_s;
    s->total_joules += joules;
    store_add_energy(batch, &(struct store_energy){.at_s = at_s,
                                                   .device = node->name,
                                                   .joules = joules,
                                                   .error_joules = MODEL_ERROR * joules,
                                                   .modelled_joules = joules});
}

/* Joules the usual placement would have taken for what the job did in the window, on one
 * of its devices; less what it took. */
static double saved_in(struct service *s, struct record *r, double joules,
                       double window_s)
{
    double rate = isfinite(r->rate) ? r->rate : r->predicted_rate;
    double usual;

    if (!isfinite(r->reference_watts) && r->phase == PHASE_RUNNING)
        decisions_reference(s, r);
    usual = r->reference_watts * window_s;
    if (record_job(r)->kind == JOB_TRAINING)
        usual *= rate / r->reference_rate;
    return isfinite(usual) ? usual - joules : 0;
}

static void book_part(struct service *s, struct store_batch *batch,
                      const struct engine_event *e, struct part *part, double window_s)
{
    struct record *r = part->record;
    double modelled = e->modelled ? part->joules : 0;
    double saved = saved_in(s, r, part->joules, window_s);

    r->saved_joules += saved;
    s->saved_joules += saved;
    r->joules += part->joules;
    r->joules_error += part->error;
    r->joules_modelled += modelled;
    if (window_s > 0)
        r->watts = part->joules / window_s * record_job(r)->devices;
    store_add_energy(batch, &(struct store_energy){.at_s = e->at_s,
                                                   .device = s->devices[e->device].name,
                                                   .job = r->id,
                                                   .user = record_user(r),
                                                   .joules = part->joules,
                                                   .error_joules = part->error,
                                                   .modelled_joules = modelled,
                                                   .busy_s = window_s,
                                                   .saved_joules = saved});
}

static bool has_part(const struct part *parts, int count, uint64_t job)
{
    for (int i = 0; i < count; i++)
        if (parts[i].record->id == job)
            return true;
    return false;
}

/* Shares of jobs that are not there any more; returns the joules that are booked. */
static double book_gone(struct service *s, struct store_batch *batch,
                        const struct engine_event *e, const struct part *parts, int count)
{
    double booked = 0;

    for (int i = 0; i < e->share_count && e->divided; i++) {
        const struct engine_share *share = &e->shares[i];
        struct part part = {.record = records_get(s->records, share->job),
                            .joules = share->joules,
                            .error = share_error(e, share)};

        if (has_part(parts, count, share->job))
            continue;
        if (part.record)
            book_part(s, batch, e, &part, 0);
        else /* forgotten here: the store has its sums */
            store_add_energy(
                batch,
                &(struct store_energy){.at_s = e->at_s,
                                       .device = s->devices[e->device].name,
                                       .job = share->job,
                                       .joules = part.joules,
                                       .error_joules = part.error,
                                       .modelled_joules = e->modelled ? part.joules : 0});
        booked += part.joules;
    }
    return booked;
}

static void book_idle(struct service *s, struct store_batch *batch,
                      const struct engine_event *e, double joules)
{
    double error = e->modelled ? MODEL_ERROR : METER_ERROR;

    store_add_energy(batch,
                     &(struct store_energy){.at_s = e->at_s,
                                            .device = s->devices[e->device].name,
                                            .joules = joules,
                                            .error_joules = error * joules,
                                            .modelled_joules = e->modelled ? joules : 0});
}

static void tell(struct service *s, const struct engine_event *e)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "device", s->devices[e->device].name);
    json_out_key_number(&out, "at_s", e->at_s);
    views_number(&out, "watts", e->watts);
    json_out_end(&out);
    tx_tell(s, "power", NULL, &data);
}

struct energy_so_far energy_so_far(const struct service *s, const struct record *r)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct energy_so_far e = {r->joules, r->joules_error, r->joules, 0};
    double now_s = service_now_s(s), more;

    if (r->phase != PHASE_RUNNING || !status || !isfinite(r->watts) ||
        !isfinite(r->began_s))
        return e;
    for (int i = 0; i < status->device_count; i++) {
        double since_s = fmax(s->devices[status->devices[i]].told_s, r->began_s);

        e.busy_s += fmax(0, now_s - since_s);
    }
    more = r->watts / record_job(r)->devices * e.busy_s;
    e.joules += more;
    e.error += MODEL_ERROR * more;
    return e;
}

void energy_power(struct service *s, const struct engine_event *e)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct device_more *more = &s->devices[e->device];
    struct store_batch *batch;
    struct part parts[LOOP_MAX_SHARE];
    double window_s = fmax(0, e->at_s - more->told_s), gone;
    int count = find_parts(s, e->device, parts);

    if (!(e->joules >= 0) || !isfinite(e->joules))
        return;
    batch = store_batch_create();
    more->watts = e->watts;
    more->joules += e->joules;
    more->modelled = e->modelled;
    more->told_s = e->at_s;
    s->total_joules += e->joules;
    if (e->divided)
        split_as_told(parts, count, e);
    else
        split(parts, count, e->joules,
              c->types[c->devices[e->device].type].idle_watts * window_s,
              e->modelled ? MODEL_ERROR : METER_ERROR);
    for (int i = 0; i < count; i++)
        book_part(s, batch, e, &parts[i], window_s);
    gone = book_gone(s, batch, e, parts, count);
    if (count == 0)
        book_idle(s, batch, e, fmax(e->joules - gone, 0));
    book_host(s, batch, e->device, e->at_s);
    store_add_power(batch, &(struct store_power){.device = more->name,
                                                 .at_s = e->at_s,
                                                 .window_s = window_s,
                                                 .watts = e->watts,
                                                 .joules = e->joules,
                                                 .modelled = e->modelled});
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
    tell(s, e);
}
