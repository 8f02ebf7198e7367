/* handle_energy.c - joules by whom and when */
#include "service/handlers.h"

#include "base/intern.h"
#include "base/mem.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_WITH_POINTS 50

enum by { BY_TOTAL, BY_JOB, BY_USER, BY_DEVICE, BY_NODE, BY_TYPE };
static const char *const by_names[] = {"total", "job",  "user", "device",
                                       "node",  "type", NULL};

struct row {
    char key[LOOP_NAME_SIZE + 16];
    uint64_t job;
    double joules, error, modelled, busy_s, saved;
};

struct sums {
    struct service *s;
    enum by by;
    struct intern *names; /* of rows, until they are sorted */
    vec_of(struct row) rows;
};

/* A host's energy stands under the node's name; it has no GPU type. */
static void name_of(const struct sums *x, const char *device, char *key, size_t size)
{
    const struct cluster *c = loop_cluster(x->s->loop);
    int d = service_device_named(x->s, device);

    if (x->by == BY_NODE)
        str_copy(key, size, d >= 0 ? c->nodes[c->devices[d].node].name : device);
    else if (x->by == BY_TYPE)
        str_copy(key, size, d >= 0 ? c->types[c->devices[d].type].name : "hosts");
    else
        str_copy(key, size, device);
}

/* There may be a row for every job. */
static struct row *row_named(struct sums *x, const char *key)
{
    size_t id = (size_t)intern_id(x->names, key);

    if (id == x->rows.count) {
        vec_push(&x->rows, (struct row){0});
        str_copy(x->rows.items[id].key, sizeof(((struct row *)0)->key), key);
    }
    return &x->rows.items[id];
}

static int sum_row(void *ctx, const void *stored)
{
    const struct store_energy_sum *sum = stored;
    struct sums *x = ctx;
    struct row *row;
    char key[LOOP_NAME_SIZE + 16] = "total";

    if (x->by == BY_JOB && sum->job == 0)
        str_copy(key, sizeof(key), "idle");
    else if (x->by == BY_JOB)
        snprintf(key, sizeof(key), "%llu", (unsigned long long)sum->job);
    else if (x->by == BY_USER)
        str_copy(key, sizeof(key), sum->user && *sum->user ? sum->user : "nobody");
    else if (x->by >= BY_DEVICE)
        name_of(x, sum->device ? sum->device : "", key, sizeof(key));
    row = row_named(x, key);
    row->job = sum->job;
    row->joules += sum->joules;
    row->error += sum->error_joules;
    row->modelled += sum->modelled_joules;
    row->busy_s += sum->busy_s;
    row->saved += sum->saved_joules;
    return 0;
}

/* What runs is counted up to this moment: meters are read only now and then, and a young
 * job would not be seen at all. */
static void add_running(struct sums *x, const struct store_filter *f)
{
    size_t count;
    struct record *const *busy = records_busy(x->s->records, &count);

    for (size_t i = 0; i < count; i++) {
        const struct record *r = busy[i];
        struct views_energy e;
        char key[LOOP_NAME_SIZE + 16];
        struct row *row;

        if (r->phase != PHASE_RUNNING || (f->job && f->job != r->id) ||
            (f->user && strcmp(f->user, record_user(r)) != 0))
            continue;
        e = views_energy(x->s, r);
        if (x->by == BY_JOB)
            snprintf(key, sizeof(key), "%llu", (unsigned long long)r->id);
        else
            str_copy(key, sizeof(key), record_user(r));
        row = row_named(x, key);
        row->job = r->id;
        row->joules += e.joules - e.booked;
        row->error += e.error - r->joules_error;
        row->modelled += e.joules - e.booked;
        row->busy_s += e.busy_s;
    }
}

static int by_joules(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->joules < y->joules) - (x->joules > y->joules);
}

/* ---- over time -------------------------------------------------------------------- */

struct series {
    struct json_out *out;
    double step_s, bucket_s, joules;
    bool any;
};

static void end_point(struct series *p)
{
    if (!p->any)
        return;
    json_out_begin_object(p->out);
    json_out_key_number(p->out, "at_s", p->bucket_s);
    json_out_key_number(p->out, "joules", p->joules);
    json_out_end(p->out);
    p->any = false;
    p->joules = 0;
}

static int point_row(void *ctx, const void *row)
{
    const struct store_energy_sum *sum = row;
    struct series *p = ctx;
    double bucket_s = floor(sum->start_s / p->step_s) * p->step_s;

    if (p->any && bucket_s != p->bucket_s)
        end_point(p);
    p->bucket_s = bucket_s;
    p->joules += sum->joules;
    p->any = true;
    return 0;
}

static void write_points(struct service *s, struct json_out *out, enum by by,
                         const struct row *row, struct store_filter filter, double step_s)
{
    struct series p = {.out = out, .step_s = fmax(step_s, 3600)};

    if (by == BY_JOB)
        filter.job = row->job;
    else if (by == BY_USER)
        filter.user = row->key;
    else if (by == BY_DEVICE)
        filter.device = row->key;
    json_out_key_array(out, "points");
    if (by <= BY_DEVICE)
        store_read(s->reader, STORE_ENERGY_BY_HOUR, &filter, point_row, &p, NULL);
    end_point(&p);
    json_out_end(out);
}

static void write_row(struct service *s, struct json_out *out, enum by by,
                      const struct row *row)
{
    const struct record *r = by == BY_JOB ? records_get(s->records, row->job) : NULL;
    const struct job_status *status = r ? loop_job(s->loop, r->id) : NULL;

    json_out_key_string(out, "key", row->key);
    if (by == BY_JOB)
        json_out_key_string(out, "name", r ? record_job(r)->name : NULL);
    json_out_key_number(out, "joules", row->joules);
    json_out_key_number(out, "joules_low", fmax(0, row->joules - row->error));
    json_out_key_number(out, "joules_high", row->joules + row->error);
    json_out_key_number(out, "modelled_share",
                        row->joules > 0 ? row->modelled / row->joules : 0);
    json_out_key_number(out, "gpu_s", row->busy_s);
    json_out_key_number(out, "saved_joules", row->saved);
    if (by == BY_JOB)
        json_out_key_number(out, "steps", status ? status->steps_done : NAN);
}

static bool parse_energy(struct service *s, struct request *r, struct sums *x,
                         struct store_filter *f, double *step_s, int *limit)
{
    const struct auth_identity *who = &r->identity;
    double job = 0;
    int by = 0;

    if (!handlers_choice(r, "by", by_names, &by) ||
        !handlers_number(r, "job", 1, 9007199254740991.0, &job) ||
        !handlers_number(r, "from_s", 0, API_MAX_TIME_S, &f->from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &f->to_s) ||
        !handlers_number(r, "step_s", 1, 1e9, step_s) || !handlers_limit(r, limit))
        return false;
    x->s = s;
    x->by = (enum by)by;
    f->job = (uint64_t)job;
    f->user = uri_query_get(&r->query, "user");
    f->device = uri_query_get(&r->query, "device");
    if (who->role == AUTH_USER && f->user && strcmp(f->user, who->name) != 0) {
        request_answer_error(r, 403, "forbidden", "user",
                             "you may look at your own energy");
        return false;
    }
    if (who->role == AUTH_USER)
        f->user = who->name;
    return true;
}

void handle_energy(void *ctx, struct request *r)
{
    static const enum store_table how[] = {
        STORE_ENERGY_TOTAL,     STORE_ENERGY_BY_JOB,    STORE_ENERGY_BY_USER,
        STORE_ENERGY_BY_DEVICE, STORE_ENERGY_BY_DEVICE, STORE_ENERGY_BY_DEVICE};
    struct service *s = ctx;
    struct store_filter filter = {0};
    struct sums x = {0};
    struct handlers_answer a;
    struct err err = {0};
    double step_s = 0, all = 0;
    int limit;

    if (!parse_energy(s, r, &x, &filter, &step_s, &limit))
        return;
    x.names = intern_create();
    if (store_read(s->reader, how[x.by], &filter, sum_row, &x, &err) < 0) {
        request_fail(r, NULL, &err);
        goto done;
    }
    if ((x.by == BY_JOB || x.by == BY_USER) && !filter.device &&
        (filter.to_s <= 0 || filter.to_s >= service_now_s(s)))
        add_running(&x, &filter);
    if (x.rows.count > 0)
        qsort(x.rows.items, x.rows.count, sizeof(*x.rows.items), by_joules);
    vec_each (struct row, row, &x.rows)
        all += row->joules;
    handlers_begin(&a, r, NULL);
    json_out_key_string(&a.out, "by", by_names[x.by]);
    json_out_key_number(&a.out, "from_s", filter.from_s);
    json_out_key_number(&a.out, "to_s", filter.to_s > 0 ? filter.to_s : service_now_s(s));
    json_out_key_number(&a.out, "joules", all);
    json_out_key_array(&a.out, "rows");
    for (size_t i = 0; i < x.rows.count && i < (size_t)limit; i++) {
        json_out_begin_object(&a.out);
        write_row(s, &a.out, x.by, &x.rows.items[i]);
        if (step_s > 0 && i < ROWS_WITH_POINTS)
            write_points(s, &a.out, x.by, &x.rows.items[i], filter, step_s);
        json_out_end(&a.out);
    }
    handlers_answer(&a, 200);
done:
    intern_destroy(x.names);
    vec_free(&x.rows);
}
