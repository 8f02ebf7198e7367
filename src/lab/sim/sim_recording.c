/* sim_recording.c - see sim_recording.h */
#include "lab/sim/sim_recording.h"

#include <math.h>

struct sim_recording *recording_create(const struct cluster *cluster, bool places)
{
    struct sim_recording *r = mem_new(struct sim_recording);

    r->places = places;
    r->names = intern_create();
    r->merged = 1;
    r->cut_s = INFINITY;
    if (!places)
        return r;
    r->device_count = cluster->device_count;
    r->devices = mem_array(struct recording_device, (size_t)cluster->device_count);
    for (int d = 0; d < cluster->device_count; d++)
        r->devices[d] = (struct recording_device){
            .type = intern_id(r->names, cluster->types[cluster->devices[d].type].name),
            .node = cluster->devices[d].node,
            .node_name =
                intern_id(r->names, cluster->nodes[cluster->devices[d].node].name),
        };
    r->node_count = cluster->node_count;
    r->away_now = mem_array(size_t, (size_t)cluster->node_count);
    for (int n = 0; n < cluster->node_count; n++)
        recording_node(r, n, cluster->nodes[n].state, 0);
    return r;
}

void recording_destroy(struct sim_recording *r)
{
    if (!r)
        return;
    intern_destroy(r->names);
    free(r->devices);
    free(r->away_now);
    vec_free(&r->spans);
    vec_free(&r->away);
    vec_free(&r->sights);
    free(r);
}

/* Room for so many more?  From the first time there is not, places count no longer. */
static bool keeps(struct sim_recording *r, size_t more, double now_s)
{
    if (!r || !r->places || isfinite(r->cut_s))
        return false;
    if (r->spans.count + r->away.count + more <= RECORDING_MAX_SPANS)
        return true;
    r->cut_s = now_s;
    return false;
}

size_t recording_seat(struct sim_recording *r, const struct job *job,
                      const struct action *action, enum recording_why why, double now_s,
                      double ready_s)
{
    size_t first;

    if (!keeps(r, (size_t)action->device_count, now_s))
        return 0;
    first = r->spans.count;
    for (int i = 0; i < action->device_count; i++)
        vec_push(&r->spans, (struct recording_span){
                                .job = job->id,
                                .name = intern_id(r->names, job->name),
                                .device = action->devices[i],
                                .kind = job->kind,
                                .why = why,
                                .from_s = now_s,
                                .ready_s = ready_s,
                                .to_s = INFINITY,
                            });
    return first + 1;
}

void recording_leave(struct sim_recording *r, size_t seat, double now_s)
{
    if (!r || seat == 0)
        return;
    /* The devices of one job stand together. */
    for (size_t i = seat - 1;
         i < r->spans.count && r->spans.items[i].job == r->spans.items[seat - 1].job &&
         r->spans.items[i].from_s == r->spans.items[seat - 1].from_s;
         i++)
        r->spans.items[i].to_s = now_s;
}

void recording_node(struct sim_recording *r, int node, enum node_state state,
                    double now_s)
{
    size_t open;

    if (!r || !r->places)
        return;
    open = r->away_now[node];
    if (open && r->away.items[open - 1].state == state)
        return;
    if (open)
        r->away.items[open - 1].to_s = now_s;
    r->away_now[node] = 0;
    if (state == NODE_AWAKE || !keeps(r, 1, now_s))
        return;
    vec_push(&r->away, (struct recording_away){
                           .node = node,
                           .state = state,
                           .from_s = now_s,
                           .to_s = INFINITY,
                       });
    r->away_now[node] = r->away.count;
}

/* Neighbours into their means: half as many entries, each of twice as many sights. */
static void merge_sights(struct sim_recording *r)
{
    for (size_t i = 0; i < r->sights.count / 2; i++) {
        const struct recording_sight a = r->sights.items[2 * i];
        const struct recording_sight b = r->sights.items[2 * i + 1];
        int count = a.count + b.count;

        r->sights.items[i] = (struct recording_sight){
            .at_s = (a.at_s * a.count + b.at_s * b.count) / count,
            .abs_log_error =
                (a.abs_log_error * a.count + b.abs_log_error * b.count) / count,
            .count = count,
        };
    }
    r->sights.count /= 2;
    r->merged *= 2;
}

/* One more into the last entry, unless that stands for as many as it may. */
static bool join_last(struct sim_recording *r, double at_s, double abs_log_error)
{
    struct recording_sight *last;

    if (r->sights.count == 0)
        return false;
    last = &r->sights.items[r->sights.count - 1];
    if (last->count >= r->merged)
        return false;
    last->count++;
    last->at_s += (at_s - last->at_s) / last->count;
    last->abs_log_error += (abs_log_error - last->abs_log_error) / last->count;
    return true;
}

void recording_sight(struct sim_recording *r, double at_s, double abs_log_error)
{
    if (!r || join_last(r, at_s, abs_log_error))
        return;
    if (r->sights.count == RECORDING_MAX_SIGHTS)
        merge_sights(r);
    vec_push(&r->sights, (struct recording_sight){
                             .at_s = at_s, .abs_log_error = abs_log_error, .count = 1});
}

void recording_end(struct sim_recording *r, double now_s)
{
    if (!r)
        return;
    r->end_s = fmin(now_s, r->cut_s);
    vec_each (struct recording_span, span, &r->spans) {
        span->to_s = fmin(span->to_s, r->end_s);
        span->ready_s = fmin(span->ready_s, span->to_s);
    }
    vec_each (struct recording_away, away, &r->away)
        away->to_s = fmin(away->to_s, r->end_s);
}
