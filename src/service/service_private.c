/* service_private.c - what all files of this folder ask of the service: the time, names,
 * who may do what, and a round
 *
 * Whoever changes something that may call for another plan wants a round here; the timer
 * this sets calls rounds.c. */
#include "service/service_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/sim/sim_engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* While the store cannot write, nothing new starts; a round is tried this often. */
#define FAILING_GAP_S 2.0

double service_now_s(const struct service *s)
{
    struct timespec now;

    if (s->config.engine == SERVICE_ENGINE_SIM)
        return s->engine.self ? sim_engine_now_s(&s->engine) : s->ended_s;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool service_clock_stepped(const struct service *s)
{
    return s->config.engine == SERVICE_ENGINE_SIM &&
           s->config.sim.clock == SIM_CLOCK_STEPPED;
}

void service_name_devices(struct service *s)
{
    const struct cluster *c = loop_cluster(s->loop);
    size_t devices = (size_t)c->device_count, nodes = (size_t)c->node_count;
    double now_s = service_now_s(s);

    s->devices = mem_resize(s->devices, s->named_devices, devices, sizeof(*s->devices));
    s->nodes = mem_resize(s->nodes, s->named_nodes, nodes, sizeof(*s->nodes));
    for (size_t n = s->named_nodes; n < nodes; n++) {
        s->nodes[n].host_s = now_s;
        for (int i = 0; i < c->nodes[n].device_count; i++) {
            struct device_more *d = &s->devices[c->nodes[n].first_device + i];

            snprintf(d->name, sizeof(d->name), "%s:%d", c->nodes[n].name, i);
            d->watts = NAN;
            d->told_s = now_s;
        }
    }
    s->named_devices = devices;
    s->named_nodes = nodes;
}

int service_device_named(const struct service *s, const char *name)
{
    for (int d = 0; d < loop_cluster(s->loop)->device_count; d++)
        if (strcmp(s->devices[d].name, name) == 0)
            return d;
    return -1;
}

int service_devices_named(const struct service *s, const char *names, int *devices,
                          int *found)
{
    char name[LOOP_NAME_SIZE + 16];
    int count = 0;

    *found = 0;
    for (; count < LOOP_MAX_GANG && str_next_word(&names, name, sizeof(name)); count++) {
        int device = service_device_named(s, name);

        if (device >= 0)
            devices[(*found)++] = device;
    }
    return count;
}

int service_node_named(const struct service *s, const char *name)
{
    const struct cluster *c = loop_cluster(s->loop);

    for (int n = 0; n < c->node_count; n++)
        if (strcmp(c->nodes[n].name, name) == 0)
            return n;
    return -1;
}

const struct job_status *service_status(const struct service *s, const struct record *r)
{
    static const struct job_status waiting = {.started_s = NAN, .placed_s = NAN};
    const struct job_status *known = r->final;

    if (!known && r->phase != PHASE_PENDING)
        known = loop_job(s->loop, r->id);
    return known ? known : &waiting;
}

const struct device_leaving *
service_in_the_way(const struct service *s, const struct job_status *status, int *device)
{
    const struct cluster *c = loop_cluster(s->loop);

    for (int i = 0; i < status->device_count; i++) {
        *device = status->devices[i];
        if (c->devices[*device].leaving_count > 0)
            return cluster_leaving(c, *device, NULL);
    }
    return NULL;
}

bool service_may_touch(const struct auth_identity *who, const char *user)
{
    return who->role == AUTH_OPERATOR ||
           (who->role == AUTH_USER && strcmp(who->name, user) == 0);
}

bool service_may_see(const struct auth_identity *who, const char *user)
{
    return who->role == AUTH_VIEWER || service_may_touch(who, user);
}

/* The loop knows when a round is due; rounds keep their distance on the wall's clock,
 * unless an operator moves the time. */
void service_follow_rounds(struct service *s)
{
    double due_s = (loop_round_due_s(s->loop) - service_now_s(s)) /
                   service_config_clock_rate(&s->config);
    double gap_s = s->failing ? FAILING_GAP_S : s->config.planner.gap_s;
    double left_s = gap_s - (clock_wall_s() - s->round_wall_s);
    double wait_s = s->failing ? left_s : fmax(due_s, left_s); /* then it only tries */

    if (s->round_running || s->draining || s->starting)
        return;
    if (service_clock_stepped(s) && due_s > 0)
        reactor_timer_cancel(s->round_timer);
    else if (service_clock_stepped(s))
        reactor_timer_after(s->round_timer, 0.001);
    else
        reactor_timer_after(s->round_timer,
                            fmax(0.001, fmin(wait_s, s->config.planner.every_s)));
}

void service_want_round(struct service *s)
{
    if (s->draining || s->starting)
        return;
    loop_want_round(s->loop, service_now_s(s));
    service_follow_rounds(s);
}
