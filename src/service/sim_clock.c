/* sim_clock.c - POST /v1/sim/advance, from event to event of the simulated engine
 *
 * The handler notes how far to go; a timer of the reactor looks whether all is settled at
 * the present moment, and if so moves the engine to the next one.  The answer says how
 * far it came. */
#include "service/sim_clock.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/sim/sim_engine.h"
#include "service/handlers.h"
#include "service/replica_jobs.h"
#include "service/rounds.h"
#include "service/tx.h"

#include <math.h>
#include <stdlib.h>

/* Threads of ours are looked at this often while they work. */
#define LOOK_S 0.0005
/* A long way is answered in parts, well within the server's limit for an answer. */
#define PART_S 20.0

struct clock_stepper {
    struct request *request; /* NULL: nobody waits */
    double to_s;
    double asked_wall_s;
    struct reactor_timer *timer;
};

bool sim_clock_stepped(const struct service *s)
{
    return s->config.engine == SERVICE_ENGINE_SIM &&
           s->config.sim.clock == SIM_CLOCK_STEPPED;
}

void sim_clock_ledger(struct service *s, struct str *line)
{
    struct tx *tx = tx_begin(s);

    tx_event(tx, "ledger", NULL, line);
    tx_commit(tx, NULL, NULL);
}

static void answer(struct service *s, bool settled)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_number(&out, "now_s", service_now_s(s));
    json_out_key_bool(&out, "there", settled && service_now_s(s) >= s->clock->to_s);
    json_out_end(&out);
    request_answer(s->clock->request, 200, &text);
    s->clock->request = NULL;
}

/* Has everything happened that follows from what has been? */
static bool settled(struct service *s)
{
    double now_s = service_now_s(s);

    replica_jobs_tick(s);
    return sim_engine_next_s(&s->engine) > now_s && !s->round_running &&
           rounds_next_s(s) > now_s && s->unstored == 0;
}

static void look(void *ctx)
{
    struct service *s = ctx;
    struct clock_stepper *c = s->clock;
    bool quiet = settled(s);
    double next_s;

    if (!c->request)
        return;
    if ((quiet && service_now_s(s) >= c->to_s) ||
        clock_wall_s() - c->asked_wall_s > PART_S) {
        answer(s, quiet);
        return;
    }
    if (quiet) {
        next_s = fmin(c->to_s, fmin(sim_engine_next_s(&s->engine), rounds_next_s(s)));
        s->engine.ops->dispatch(s->engine.self, next_s);
        rounds_follow(s);
    }
    reactor_timer_after(c->timer, quiet ? 0 : LOOK_S);
}

void handle_advance_sim(void *ctx, struct request *r)
{
    struct service *s = ctx;
    double to_s = 0;

    if (!handlers_writable(s, r))
        return;
    if (!sim_clock_stepped(s)) {
        request_answer_error(r, 409, "exists", NULL,
                             "time goes by itself here; with engine: sim and sim.clock: "
                             "stepped it can be moved");
        return;
    }
    if (s->clock && s->clock->request) {
        request_answer_error(r, 409, "exists", NULL, "somebody moves the time already");
        return;
    }
    json_value_number(json_value_get(r->body, "to_s"), &to_s);
    if (to_s < service_now_s(s)) {
        request_answer_error(r, 400, "invalid", "to_s", "time does not go back");
        return;
    }
    if (!s->clock) {
        s->clock = mem_new(struct clock_stepper);
        s->clock->timer = reactor_timer_create(s->reactor, look, s);
    }
    s->clock->request = r;
    s->clock->to_s = to_s;
    s->clock->asked_wall_s = clock_wall_s();
    reactor_timer_after(s->clock->timer, 0);
}

void sim_clock_end(struct service *s)
{
    if (!s->clock)
        return;
    if (s->clock->request)
        request_answer_error(s->clock->request, 503, "busy", NULL,
                             "the daemon is ending");
    reactor_timer_destroy(s->clock->timer);
    free(s->clock);
    s->clock = NULL;
}
