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
#define JOULES_PER_KWH   3.6e6

enum by { BY_TOTAL, BY_JOB, BY_USER, BY_ACCOUNT, BY_DEVICE, BY_NODE, BY_TYPE };
static const char *const by_names[] = {"total",  "job",  "user", "account",
                                       "device", "node", "type", NULL};

/* No user, account, job or type can have these names. */
#define NOBODY     "(idle)"
#define HOSTS      "(hosts)"
#define NO_ACCOUNT "(none)"

struct row {
    char key[LOOP_NAME_SIZE + 16];
    char name[LOOP_NAME_SIZE]; /* of a job */
    uint64_t job;
    struct energy_use use;
    struct energy_savings saved;
    struct energy_saving open; /* of the job `job`, not yet in saved */
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
        str_copy(key, size, d >= 0 ? c->types[c->devices[d].type].name : HOSTS);
    else
        str_copy(key, size, device);
}

/* As the config says now, also of what was booked before. */
static const char *account_of(const struct service *s, const char *user)
{
    const char *account = service_config_share(&s->config, 0, user).account;

    return account ? account : NO_ACCOUNT;
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

static void close_job(struct row *row)
{
    energy_savings_add(&row->saved, &row->open);
    row->open = (struct energy_saving){0};
}

/* A job has a row for each of its devices, one after the other: its errors add up, those
 * of different jobs do so in part. */
static int sum_row(void *ctx, const void *stored)
{
    const struct store_energy_sum *sum = stored;
    struct sums *x = ctx;
    struct row *row;
    char key[LOOP_NAME_SIZE + 16] = "total";

    if (x->by == BY_JOB && sum->job > 0)
        snprintf(key, sizeof(key), "%llu", (unsigned long long)sum->job);
    else if (x->by == BY_JOB || x->by == BY_USER)
        str_copy(key, sizeof(key), sum->job > 0 && sum->user ? sum->user : NOBODY);
    else if (x->by == BY_ACCOUNT)
        str_copy(key, sizeof(key),
                 sum->job > 0 && sum->user ? account_of(x->s, sum->user) : NOBODY);
    else if (x->by >= BY_DEVICE)
        name_of(x, sum->device ? sum->device : "", key, sizeof(key));
    row = row_named(x, key);
    if (row->job != sum->job)
        close_job(row);
    row->job = sum->job;
    str_copy(row->name, sizeof(row->name), sum->name ? sum->name : "");
    row->use.joules += sum->joules;
    row->use.error_joules += sum->error_joules;
    row->use.modelled_joules += sum->modelled_joules;
    row->use.busy_s += sum->busy_s;
    row->open.joules += sum->saved_joules;
    row->open.error += sum->saved_error;
    row->open.unknown += sum->unknown_joules;
    return 0;
}

static int by_joules(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->use.joules < y->use.joules) - (x->use.joules > y->use.joules);
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
    if (by <= BY_DEVICE && by != BY_ACCOUNT)
        store_read(s->reader, STORE_ENERGY_BY_HOUR, &filter, point_row, &p, NULL);
    end_point(&p);
    json_out_end(out);
}

static void write_sums(const struct service *s, struct json_out *out,
                       const struct energy_use *use, const struct energy_savings *saved)
{
    const struct service_energy_config *kwh = &s->config.energy;

    json_out_key_number(out, "joules", use->joules);
    json_out_key_number(out, "joules_low", fmax(0, use->joules - use->error_joules));
    json_out_key_number(out, "joules_high", use->joules + use->error_joules);
    json_out_key_number(out, "modelled_share",
                        use->joules > 0 ? use->modelled_joules / use->joules : 0);
    json_out_key_number(out, "gpu_s", use->busy_s);
    views_saving(out, saved->known, saved->joules, energy_savings_error(saved));
    if (kwh->price_per_kwh > 0)
        json_out_key_number(out, "cost",
                            use->joules / JOULES_PER_KWH * kwh->price_per_kwh);
    if (kwh->co2_g_per_kwh > 0)
        json_out_key_number(out, "co2_g",
                            use->joules / JOULES_PER_KWH * kwh->co2_g_per_kwh);
}

static void write_row(struct service *s, struct json_out *out, enum by by,
                      const struct row *row)
{
    const struct job_status *status =
        by == BY_JOB && row->job ? loop_job(s->loop, row->job) : NULL;

    json_out_key_string(out, "key", row->key);
    if (by == BY_JOB)
        json_out_key_string(out, "name", row->name[0] ? row->name : NULL);
    write_sums(s, out, &row->use, &row->saved);
    if (by == BY_JOB)
        json_out_key_number(out, "steps", status ? status->steps_done : NAN);
}

/* All rows together, also those the answer has no room for. */
static void write_all(struct service *s, struct json_out *out, struct sums *x)
{
    struct energy_use use = {0};
    struct energy_savings saved = {0};

    vec_each (struct row, row, &x->rows) {
        close_job(row);
        use.joules += row->use.joules;
        use.error_joules += row->use.error_joules;
        use.modelled_joules += row->use.modelled_joules;
        use.busy_s += row->use.busy_s;
        saved.joules += row->saved.joules;
        saved.errors += row->saved.errors;
        saved.squares += row->saved.squares;
        saved.known = saved.known || row->saved.known;
    }
    write_sums(s, out, &use, &saved);
    if (s->config.energy.price_per_kwh > 0)
        json_out_key_string(out, "currency", s->config.energy.currency);
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
    struct service *s = ctx;
    struct store_filter filter = {0};
    struct sums x = {0};
    struct handlers_answer a;
    struct err err = {0};
    double step_s = 0;
    int limit;

    if (!parse_energy(s, r, &x, &filter, &step_s, &limit))
        return;
    x.names = intern_create();
    if (store_read(s->reader, STORE_ENERGY_BY_JOB, &filter, sum_row, &x, &err) < 0) {
        request_fail(r, NULL, &err);
        goto done;
    }
    if (x.rows.count > 0)
        qsort(x.rows.items, x.rows.count, sizeof(*x.rows.items), by_joules);
    handlers_begin(&a, r, NULL);
    json_out_key_string(&a.out, "by", by_names[x.by]);
    json_out_key_number(&a.out, "from_s", filter.from_s);
    json_out_key_number(&a.out, "to_s", filter.to_s > 0 ? filter.to_s : service_now_s(s));
    write_all(s, &a.out, &x);
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
