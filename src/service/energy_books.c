/* energy_books.c - the joules of devices, hosts and jobs, booked as they are told: hosts
 * and idle devices are nobody's
 *
 * engine_events.c hands over each reading of a device's power.  Who was on the device is
 * in the records, loop/record/energy_split says whose joules they are, and the sums go to
 * the store, to the records and to clients that follow. */
#include "service/service_private.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "loop/record/energy_split.h"
#include "service/tx.h"
#include "store/rows.h"

#include <math.h>
#include <stdlib.h>

static bool is_leaving(const struct record *r, int device)
{
    for (int i = 0; r->leaving_attempt > 0 && i < r->leaving_count; i++)
        if (r->leaving_devices[i] == device)
            return true;
    return false;
}

static struct energy_part part_of(struct service *s, const struct record *r, int type)
{
    double idle = loop_cluster(s->loop)->types[type].idle_watts;
    struct prediction p = predict_alone(loop_model(s->loop), record_job(r), type);

    return (struct energy_part){.job = r->id,
                                .here = true,
                                .added_watts = fmax(p.watts.value - idle, 1),
                                .spread_watts = (p.watts.high - p.watts.low) / 2};
}

/* Who runs there, and who was told to leave and had not yet: the loop has given the
 * device to others, but the energy up to now is theirs. */
static int find_here(struct service *s, int device, struct energy_part *parts)
{
    const struct device *d = &loop_cluster(s->loop)->devices[device];
    size_t all_count;
    struct record *const *all = records_all(s->records, &all_count);
    int count = 0;

    for (int i = 0; i < d->job_count && count < LOOP_MAX_SHARE; i++) {
        struct record *r = records_get(s->records, d->jobs[i]);

        if (r && r->phase == PHASE_RUNNING && !is_leaving(r, device))
            parts[count++] = part_of(s, r, d->type);
    }
    for (size_t i = 0; i < all_count && s->devices[device].leaving > 0; i++)
        if (is_leaving(all[i], device) && count < LOOP_MAX_SHARE)
            parts[count++] = part_of(s, all[i], d->type);
    return count;
}

/* The engine's word on each job, also on those that have left. */
static void add_told(const struct engine_event *e, struct energy_part *parts, int *count)
{
    for (int i = 0; i < e->share_count; i++) {
        int k = 0;

        while (k < *count && parts[k].job != e->shares[i].job)
            k++;
        if (k == *count)
            parts[(*count)++] = (struct energy_part){.job = e->shares[i].job};
        parts[k].told_joules += e->shares[i].joules;
        parts[k].told_error += e->shares[i].error_joules;
    }
}

/* What its saving is reckoned from. */
static void add_usual(struct service *s, struct energy_part *part)
{
    const struct record *r = records_get(s->records, part->job);

    part->usual = (struct energy_reference){NAN, NAN};
    if (!r)
        return;
    part->kind = record_job(r)->kind;
    part->rate = isfinite(r->rate) ? r->rate : r->predicted_rate;
    part->usual = (struct energy_reference){r->usual.watts, r->usual.rate};
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
    store_put(batch, &(struct store_energy){.at_s = at_s,
                                            .device = node->name,
                                            .joules = joules,
                                            .error_joules = ENERGY_MODEL_ERROR * joules,
                                            .modelled_joules = joules});
}

static void add_row(struct service *s, struct store_batch *batch,
                    const struct engine_event *e, struct store_energy row)
{
    row.at_s = e->at_s;
    row.device = s->devices[e->device].name;
    row.modelled_joules = e->modelled ? row.joules : 0;
    store_put(batch, &row);
}

static void book_job(struct service *s, struct store_batch *batch,
                     const struct engine_event *e, const struct energy_part *part,
                     struct record *r, double window_s)
{
    double busy_s = part->here ? window_s : 0;

    r->saved_joules += part->saved_joules;
    s->saved_joules += part->saved_joules;
    r->joules += part->joules;
    r->joules_error += part->error_joules;
    r->joules_modelled += e->modelled ? part->joules : 0;
    if (busy_s > 0)
        r->watts = part->joules / busy_s * record_job(r)->devices;
    add_row(s, batch, e,
            (struct store_energy){.job = r->id,
                                  .user = record_user(r),
                                  .joules = part->joules,
                                  .error_joules = part->error_joules,
                                  .busy_s = busy_s,
                                  .saved_joules = part->saved_joules});
}

/* A job that is forgotten here, as short ones are before their device is read: the store
 * knows whose it was.  What the store has removed meanwhile is nobody's. */
static void book_forgotten(struct service *s, struct store_batch *batch,
                           const struct engine_event *e, const struct energy_part *part)
{
    struct store_job *job = NULL;

    store_read_job(s->reader, part->job, &job, NULL);
    add_row(s, batch, e,
            (struct store_energy){.job = job ? part->job : 0,
                                  .user = job ? job->request.user : NULL,
                                  .joules = part->joules,
                                  .error_joules = part->error_joules});
    store_job_destroy(job);
}

static void book(struct service *s, struct store_batch *batch,
                 const struct engine_event *e, double window_s)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct energy_window window = {
        .seconds = window_s,
        .joules = e->joules,
        .idle_joules = c->types[c->devices[e->device].type].idle_watts * window_s,
        .modelled = e->modelled,
        .told = e->divided};
    struct energy_part *parts =
        mem_array(struct energy_part, LOOP_MAX_SHARE + (size_t)e->share_count);
    int count = find_here(s, e->device, parts);
    double nobodys;

    if (e->divided)
        add_told(e, parts, &count);
    for (int i = 0; i < count; i++)
        add_usual(s, &parts[i]);
    nobodys = energy_split(&window, parts, count);
    for (int i = 0; i < count; i++) {
        struct record *r = records_get(s->records, parts[i].job);

        if (r)
            book_job(s, batch, e, &parts[i], r, window_s);
        else
            book_forgotten(s, batch, e, &parts[i]);
    }
    if (nobodys > 0 || count == 0)
        add_row(s, batch, e,
                (struct store_energy){.joules = nobodys,
                                      .error_joules =
                                          nobodys * (e->modelled ? ENERGY_MODEL_ERROR
                                                                 : ENERGY_METER_ERROR)});
    free(parts);
}

static void tell(struct service *s, const struct engine_event *e)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "device", s->devices[e->device].name);
    json_out_key_number(&out, "at_s", e->at_s);
    json_out_key_number(&out, "watts", e->watts);
    json_out_end(&out);
    tx_tell(s, "power", NULL, &data);
}

void energy_power(struct service *s, const struct engine_event *e)
{
    struct device_more *more = &s->devices[e->device];
    double window_s = fmax(0, e->at_s - more->told_s);
    struct store_batch *batch;

    if (!(e->joules >= 0) || !isfinite(e->joules))
        return;
    batch = store_batch_create();
    more->watts = e->watts;
    more->joules += e->joules;
    more->modelled = e->modelled;
    more->told_s = e->at_s;
    s->total_joules += e->joules;
    book(s, batch, e, window_s);
    book_host(s, batch, e->device, e->at_s);
    store_put(batch, &(struct store_power){.device = more->name,
                                           .at_s = e->at_s,
                                           .window_s = window_s,
                                           .watts = e->watts,
                                           .joules = e->joules,
                                           .modelled = e->modelled});
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
    tell(s, e);
}
