/* energy_books.c - the joules of devices, hosts and jobs, booked as they are told: hosts
 * and idle devices are nobody's
 *
 * engine_events.c hands over each reading of a device's power.  Who was on the device is
 * in the records, loop/record/energy_split says whose joules they are and what was saved,
 * and the sums go to the store.  Once they are there they may be told, and not before:
 * no figure falls when the daemon is killed. */
#include "service/service_private.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"
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

/* ---- what may be told ------------------------------------------------------------- */

struct told { /* a batch on its way to the store, and what may be told afterwards */
    struct service *service;
    struct store_batch *rows;
    double joules, saved_joules;
    vec_of(struct told_job) jobs;
};

struct told_job {
    uint64_t id;
    struct record_energy energy;
};

static void may_tell(void *ctx, const struct store_completion *completion)
{
    struct told *told = ctx;

    told->service->unstored--;
    if (completion->err.code == ERR_NONE) {
        told->service->total_joules += told->joules;
        told->service->saved_joules += told->saved_joules;
        vec_each (const struct told_job, job, &told->jobs) {
            struct record *r = records_get(told->service->records, job->id);

            if (r)
                r->shown = job->energy;
        }
    }
    vec_free(&told->jobs);
    free(told);
}

static struct told *begin(struct service *s)
{
    struct told *told = mem_new(struct told);

    told->service = s;
    told->rows = store_batch_create();
    return told;
}

static void commit(struct told *told)
{
    told->service->unstored++;
    if (store_commit(told->service->store, told->rows, STORE_RELAXED, may_tell, told,
                     NULL) < 0) {
        store_batch_destroy(told->rows);
        may_tell(told, &(struct store_completion){.err.code = ERR_SYSTEM});
    }
}

/* ---- who gets what ---------------------------------------------------------------- */

/* What the job has saved is reckoned anew from all it did, as is believed now; the row
 * gets what this differs from what was booked before. */
static void add_saving(struct told *told, struct record *r, struct store_energy *row)
{
    struct service *s = told->service;
    const struct job_status *status = loop_job(s->loop, r->id);
    struct energy_saving before = r->booked.saving, *now = &r->booked.saving;

    if (status) {
        const struct reference_work work = {.steps = status->steps_done,
                                            .seconds = r->booked.use.busy_s /
                                                       status->job.devices,
                                            .demand = r->mean_demand};
        const struct reference_energy reference =
            reference_energy(loop_cluster(s->loop), loop_model(s->loop), status, &work);

        *now = energy_saved(&reference, &r->booked.use);
    }
    row->saved_joules = now->joules - before.joules;
    row->saved_error = now->error - before.error;
    row->unknown_joules = now->unknown - before.unknown;
    told->saved_joules += row->saved_joules;
    vec_push(&told->jobs, ((struct told_job){r->id, r->booked}));
}

static void book_host(struct told *told, int device, double at_s)
{
    struct service *s = told->service;
    const struct cluster *c = loop_cluster(s->loop);
    int n = c->devices[device].node;
    const struct node *node = &c->nodes[n];
    struct node_more *more = &s->nodes[n];
    bool metered = more->host_watts > 0 && node->state != NODE_ASLEEP;
    double watts = metered                      ? more->host_watts
                   : node->state == NODE_ASLEEP ? node->sleep_watts
                                                : node->host_watts;
    double joules = watts * fmax(0, at_s - more->host_s);

    if (node->first_device != device || node->state == NODE_DOWN)
        return;
    more->host_s = at_s;
    told->joules += joules;
    store_put(told->rows, &(struct store_energy){
                              .at_s = at_s,
                              .device = node->name,
                              .joules = joules,
                              .error_joules = joules * (metered ? ENERGY_METER_ERROR
                                                                : ENERGY_MODEL_ERROR),
                              .modelled_joules = metered ? 0 : joules});
}

static void add_row(struct told *told, const struct engine_event *e,
                    struct store_energy row)
{
    row.at_s = e->at_s;
    row.device = told->service->devices[e->device].name;
    row.modelled_joules = e->modelled ? row.joules : 0;
    store_put(told->rows, &row);
}

static void book_job(struct told *told, const struct engine_event *e,
                     const struct energy_part *part, struct record *r, double window_s)
{
    const struct job_status *status = loop_job(told->service->loop, r->id);
    struct energy_use *use = &r->booked.use;
    struct store_energy row = {.job = r->id,
                               .user = record_user(r),
                               .joules = part->joules,
                               .error_joules = part->error_joules,
                               .busy_s = part->here ? window_s : 0};

    use->joules += row.joules;
    use->error_joules += row.error_joules;
    use->modelled_joules += e->modelled ? row.joules : 0;
    use->busy_s += row.busy_s;
    if (row.busy_s > 0) {
        r->watts = row.joules / row.busy_s * record_job(r)->devices;
        if (status)
            r->mean_demand +=
                (requirement_demand(status) - r->mean_demand) * row.busy_s / use->busy_s;
    }
    add_saving(told, r, &row);
    add_row(told, e, row);
}

/* A job that is forgotten here, as short ones are before their device is read: the store
 * knows whose it was.  What the store has removed meanwhile is nobody's. */
static void book_forgotten(struct told *told, const struct engine_event *e,
                           const struct energy_part *part)
{
    struct store_job *job = NULL;

    store_read_job(told->service->reader, part->job, &job, NULL);
    add_row(told, e,
            (struct store_energy){.job = job ? part->job : 0,
                                  .user = job ? job->request.user : NULL,
                                  .joules = part->joules,
                                  .error_joules = part->error_joules,
                                  .unknown_joules = job ? part->joules : 0});
    store_job_destroy(job);
}

static void book(struct told *told, const struct engine_event *e, double window_s)
{
    struct service *s = told->service;
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
    nobodys = energy_split(&window, parts, count);
    for (int i = 0; i < count; i++) {
        struct record *r = records_get(s->records, parts[i].job);

        if (r)
            book_job(told, e, &parts[i], r, window_s);
        else
            book_forgotten(told, e, &parts[i]);
    }
    if (nobodys > 0 || count == 0)
        add_row(told, e,
                (struct store_energy){.joules = nobodys,
                                      .error_joules =
                                          nobodys * (e->modelled ? ENERGY_MODEL_ERROR
                                                                 : ENERGY_METER_ERROR)});
    free(parts);
}

/* Its last steps are told after its last joules. */
void energy_close(struct service *s, struct record *r)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct told *told;
    struct store_energy row = {.at_s = service_now_s(s), .job = r->id};

    if (!status || !(r->booked.use.joules > 0))
        return;
    told = begin(s);
    row.user = record_user(r);
    row.device = s->devices[r->engine_devices[0]].name;
    add_saving(told, r, &row);
    store_put(told->rows, &row);
    commit(told);
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
    json_out_key_bool(&out, "modelled", e->modelled);
    json_out_end(&out);
    tx_tell(s, "power", NULL, &data);
}

/* ---- what nobody meters ----------------------------------------------------------- */

/* What a probe saw is good for so long. */
#define PROBE_FRESH_S 60.0

void energy_probe_saw(struct service *s, const struct record *r, double watts,
                      double at_s)
{
    const struct job_status *status = loop_job(s->loop, r->id);

    for (int i = 0; status && watts > 0 && i < status->device_count; i++) {
        s->devices[status->devices[i]].probe_watts = watts;
        s->devices[status->devices[i]].probe_s = at_s;
        s->devices[status->devices[i]].probe_job = r->id;
    }
}

static double modelled_watts(const struct service *s, int device)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct device *d = &c->devices[device];
    enum node_state node = c->nodes[d->node].state;
    struct combination where = {.type = d->type, .cap_watts = d->cap_watts};
    struct prediction p;

    if (node == NODE_ASLEEP || node == NODE_DOWN)
        return 0;
    for (int i = 0; i < d->job_count; i++) {
        const struct job_status *status = loop_job(s->loop, d->jobs[i]);

        where.members[where.count++] = (struct member){
            .job = &status->job,
            .nodes = cluster_nodes_spanned(c, status->devices, status->device_count),
            .demand = requirement_demand(status)};
    }
    if (where.count == 0)
        return c->types[d->type].idle_watts;
    predict(loop_model(s->loop), &where, &p);
    return p.watts.value;
}

/* What a probe saw says nothing of the device any more when its job has left. */
static bool is_probed(const struct service *s, int device, double at_s)
{
    const struct device *d = &loop_cluster(s->loop)->devices[device];
    const struct device_more *more = &s->devices[device];
    bool there = false;

    for (int i = 0; i < d->job_count; i++)
        there = there || d->jobs[i] == more->probe_job;
    return there && at_s - more->probe_s < PROBE_FRESH_S;
}

/* A device that several probes report is one device: the last of them counts. */
static void find_joules(const struct service *s, struct engine_event *e, double window_s)
{
    const struct device_more *more = &s->devices[e->device];

    e->modelled = !is_probed(s, e->device, e->at_s);
    e->watts = e->modelled ? modelled_watts(s, e->device) : more->probe_watts;
    e->joules = e->watts * window_s;
}

void energy_host_power(struct service *s, const struct engine_event *e)
{
    s->nodes[e->node].host_watts = e->watts > 0 ? e->watts : 0; /* NaN: 0 */
}

void energy_power(struct service *s, const struct engine_event *told_event)
{
    struct engine_event metered = *told_event, *e = &metered;
    struct device_more *more = &s->devices[e->device];
    double window_s = fmax(0, e->at_s - more->told_s);
    struct told *told;

    if (isnan(e->joules) && e->modelled)
        find_joules(s, e, window_s);
    if (!(e->joules >= 0) || !isfinite(e->joules))
        return;
    told = begin(s);
    more->watts = e->watts;
    more->joules += e->joules;
    more->modelled = e->modelled;
    more->told_s = e->at_s;
    told->joules = e->joules;
    book(told, e, window_s);
    book_host(told, e->device, e->at_s);
    store_put(told->rows, &(struct store_power){.device = more->name,
                                                .at_s = e->at_s,
                                                .window_s = window_s,
                                                .watts = e->watts,
                                                .joules = e->joules,
                                                .modelled = e->modelled});
    commit(told);
    tell(s, e);
}
