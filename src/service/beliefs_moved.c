/* beliefs_moved.c - what was learned this week: the beliefs that measurements moved most
 *
 * engine_events.c tells of each first look at a job on a GPU type, alone or beside
 * another: what had been expected, and what was measured.  GET /v1/learned reads them.
 * They are kept in memory only, and begin anew with the daemon. */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEEK_S    (7 * 86400.0)
#define MOST_KEPT 512
#define TOLD      10

struct moved {
    double at_s;
    uint64_t job, beside; /* 0: alone */
    char name[LOOP_NAME_SIZE], user[AUTH_NAME_SIZE];
    int type;
    struct estimate before;
    double measured;
};

struct beliefs_moved {
    long sights;
    size_t count;
    struct moved kept[MOST_KEPT];
};

/* Factors up and down count alike. */
static double distance(const struct moved *m)
{
    return fabs(log(m->measured / m->before.value));
}

/* Room for one more: the first that is older than a week goes, else the least moved. */
static struct moved *room(struct beliefs_moved *b, double now_s)
{
    struct moved *least = b->kept;

    if (b->count < MOST_KEPT)
        return &b->kept[b->count++];
    for (size_t i = 0; i < b->count; i++) {
        if (b->kept[i].at_s < now_s - WEEK_S)
            return &b->kept[i];
        if (distance(&b->kept[i]) < distance(least))
            least = &b->kept[i];
    }
    return least;
}

void beliefs_moved_note(struct service *s, const struct record *r,
                        const struct loop_observed *seen)
{
    const struct observation *o = &seen->seen;
    const struct combination *where = &o->where;
    struct moved m = {.at_s = o->at_s,
                      .job = r->id,
                      .type = where->type,
                      .before = seen->expected.rate[o->subject],
                      .measured = o->rate};

    if (!seen->first_sight || !(m.before.value > 0) || !(m.measured > 0))
        return;
    if (where->count > 1)
        m.beside = where->members[o->subject == 0].job->id;
    str_copy(m.name, sizeof(m.name), record_job(r)->name);
    str_copy(m.user, sizeof(m.user), record_user(r));
    if (!s->beliefs_moved)
        s->beliefs_moved = mem_new(struct beliefs_moved);
    s->beliefs_moved->sights++;
    *room(s->beliefs_moved, m.at_s) = m;
}

void beliefs_moved_end(struct service *s)
{
    free(s->beliefs_moved);
    s->beliefs_moved = NULL;
}

/* ---- GET /v1/learned --------------------------------------------------------------- */

static int most_moved(const void *a, const void *b)
{
    double x = distance(*(const struct moved *const *)a);
    double y = distance(*(const struct moved *const *)b);

    return (x < y) - (x > y);
}

static void write_moved(struct json_out *out, const struct service *s,
                        const struct moved *m)
{
    json_out_begin_object(out);
    json_out_key_number(out, "at_s", m->at_s);
    json_out_key_int(out, "job", (int64_t)m->job);
    json_out_key_string(out, "name", m->name);
    json_out_key_string(out, "type", loop_cluster(s->loop)->types[m->type].name);
    json_out_key(out, "beside");
    if (m->beside)
        json_out_int(out, (int64_t)m->beside);
    else
        json_out_null(out);
    json_out_key(out, "expected");
    ledger_estimate_json(out, &m->before);
    json_out_key_number(out, "measured_rate", m->measured);
    json_out_end(out);
}

void handle_learned(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct beliefs_moved *b = s->beliefs_moved;
    const struct moved *shown[MOST_KEPT];
    double from_s = fmax(s->started_s, service_now_s(s) - WEEK_S);
    struct handlers_answer a;
    size_t count = 0;

    for (size_t i = 0; b && i < b->count; i++)
        if (b->kept[i].at_s >= from_s && service_may_see(&r->identity, b->kept[i].user))
            shown[count++] = &b->kept[i];
    if (count > 0)
        qsort(shown, count, sizeof(*shown), most_moved);
    handlers_begin(&a, r, "beliefs");
    for (size_t i = 0; i < count && i < TOLD; i++)
        write_moved(&a.out, s, shown[i]);
    json_out_end(&a.out);
    json_out_key_number(&a.out, "from_s", from_s);
    json_out_key_int(&a.out, "first_sights", b ? b->sights : 0);
    handlers_answer(&a, 200);
}
