/* observation_store.c - see observation_store.h */
#include "service/observation_store.h"

#include "base/json.h"
#include "base/json_out.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    const struct cluster *cluster;
    struct map *cells;          /* hash of the cell -> index */
    vec_of(struct seen *) seen; /* unordered */
    vec_of(uint64_t) keys;      /* (seen) */
};

void seen_copy(struct seen *to, const struct observation *from)
{
    to->observation = *from;
    for (int i = 0; i < from->where.count; i++) {
        to->jobs[i] = *from->where.members[i].job;
        to->observation.where.members[i].job = &to->jobs[i];
    }
}

struct memory *memory_create(const struct cluster *cluster)
{
    struct memory *m = mem_new(struct memory);

    m->cluster = cluster;
    m->cells = map_create();
    return m;
}

void memory_destroy(struct memory *m)
{
    if (!m)
        return;
    vec_each (struct seen *, seen, &m->seen)
        free(*seen);
    vec_free(&m->seen);
    vec_free(&m->keys);
    map_destroy(m->cells);
    free(m);
}

size_t memory_count(const struct memory *m)
{
    return m->seen.count;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*text);
    return hash;
}

static uint64_t mix_job(uint64_t hash, const struct member *m)
{
    const struct job_descriptor *d = &m->job->descriptor;

    hash = mix_text(hash, d->family);
    hash = rng_mix(hash, (uint64_t)d->model << 32 | (uint64_t)(unsigned)d->batch);
    hash = rng_mix(hash, (uint64_t)(d->gmac_per_sample * 1e6));
    return rng_mix(hash, (uint64_t)m->job->devices << 8 | (uint64_t)m->nodes);
}

static uint64_t key_of(const struct observation *o)
{
    uint64_t hash = rng_mix((uint64_t)o->where.type, (uint64_t)(o->where.cap_watts * 10));

    hash = mix_job(rng_mix(hash, o->out_of_memory), &o->where.members[o->subject]);
    for (int i = 0; i < o->where.count; i++)
        if (i != o->subject)
            hash = mix_job(hash, &o->where.members[i]);
    return hash;
}

static void forget_oldest(struct memory *m)
{
    size_t oldest = 0, last = m->seen.count - 1;

    for (size_t i = 1; i < m->seen.count; i++)
        if (m->seen.items[i]->observation.at_s < m->seen.items[oldest]->observation.at_s)
            oldest = i;
    map_remove(m->cells, m->keys.items[oldest]);
    free(m->seen.items[oldest]);
    if (oldest != last) {
        m->seen.items[oldest] = m->seen.items[last];
        m->keys.items[oldest] = m->keys.items[last];
        map_put(m->cells, m->keys.items[oldest], oldest);
    }
    m->seen.count--;
    m->keys.count--;
}

void memory_add(struct memory *m, const struct observation *o)
{
    uint64_t key = key_of(o);
    size_t at;

    if (!map_get(m->cells, key, &at)) {
        if (m->seen.count == MEMORY_CELLS)
            forget_oldest(m);
        at = m->seen.count;
        vec_push(&m->seen, mem_new(struct seen));
        vec_push(&m->keys, key);
        map_put(m->cells, key, at);
    } else if (!o->out_of_memory && m->seen.items[at]->observation.rate > 0) {
        /* A window is noisy: let the kept rate follow, not jump. */
        double kept = m->seen.items[at]->observation.rate;
        struct observation mixed = *o;

        if (fabs(log(o->rate / kept)) < 0.2)
            mixed.rate = exp(0.7 * log(kept) + 0.3 * log(o->rate));
        seen_copy(m->seen.items[at], &mixed);
        return;
    }
    seen_copy(m->seen.items[at], o);
}

static int by_time(const void *a, const void *b)
{
    const struct seen *const *x = a, *const *y = b;

    return ((*x)->observation.at_s > (*y)->observation.at_s) -
           ((*x)->observation.at_s < (*y)->observation.at_s);
}

void memory_teach(const struct memory *m, struct model *model)
{
    struct seen **ordered;

    if (m->seen.count == 0)
        return;
    ordered = mem_dup(m->seen.items, m->seen.count, sizeof(*ordered));
    qsort(ordered, m->seen.count, sizeof(*ordered), by_time);
    for (size_t i = 0; i < m->seen.count; i++)
        model->ops->absorb(model->self, &ordered[i]->observation);
    for (size_t i = 0; i < m->seen.count; i++)
        for (int k = 0; k < ordered[i]->observation.where.count; k++)
            model->ops->end(model->self, &ordered[i]->jobs[k]);
    free(ordered);
}

/* ---- as JSON ---------------------------------------------------------------------- */

static void save_member(struct json_out *out, const struct member *m)
{
    const struct job *job = m->job;
    const struct job_descriptor *d = &job->descriptor;

    json_out_begin_object(out);
    json_out_key_int(out, "id", (int64_t)job->id);
    json_out_key_string(out, "name", job->name);
    json_out_key_string(out, "family", d->family);
    json_out_key_int(out, "model", d->model);
    json_out_key_int(out, "batch", d->batch);
    json_out_key_number(out, "gmac", d->gmac_per_sample);
    json_out_key_number(out, "params", d->params_millions);
    json_out_key_number(out, "sample_mb", d->memory_mb_per_sample);
    json_out_key_number(out, "memory_gb", job->memory_gb);
    json_out_key_int(out, "devices", job->devices);
    json_out_key_int(out, "kind", job->kind);
    json_out_key_int(out, "nodes", m->nodes);
    json_out_key_number(out, "demand", m->demand);
    json_out_end(out);
}

void memory_save(const struct memory *m, struct str *to)
{
    struct json_out out;

    json_out_init(&out, to, false);
    json_out_begin_array(&out);
    for (size_t i = 0; i < m->seen.count; i++) {
        const struct observation *o = &m->seen.items[i]->observation;

        json_out_begin_object(&out);
        json_out_key_string(&out, "type", m->cluster->types[o->where.type].name);
        json_out_key_number(&out, "cap", o->where.cap_watts);
        json_out_key_int(&out, "subject", o->subject);
        json_out_key_number(&out, "at", o->at_s);
        json_out_key_number(&out, "rate", o->rate);
        json_out_key_number(&out, "sd", o->rate_sd_log);
        json_out_key_number(&out, "watts", o->device_watts);
        json_out_key_bool(&out, "memory", o->out_of_memory);
        json_out_key(&out, "jobs");
        json_out_begin_array(&out);
        for (int k = 0; k < o->where.count; k++)
            save_member(&out, &o->where.members[k]);
        json_out_end(&out);
        json_out_end(&out);
    }
    json_out_end(&out);
}

static double number(const struct json_value *object, const char *key, double otherwise)
{
    json_value_number(json_value_get(object, key), &otherwise);
    return otherwise;
}

static void load_member(const struct json_value *v, struct job *job, struct member *m)
{
    const char *family = json_value_string(json_value_get(v, "family"));
    const char *name = json_value_string(json_value_get(v, "name"));
    double model = number(v, "model", 0);

    *job = (struct job){.id = (uint64_t)number(v, "id", 0),
                        .kind = number(v, "kind", 0) > 0 ? JOB_INFERENCE : JOB_TRAINING,
                        .devices =
                            (int)fmin(fmax(number(v, "devices", 1), 1), LOOP_MAX_GANG),
                        .memory_gb = number(v, "memory_gb", 0)};
    job->descriptor = (struct job_descriptor){
        .model = model > 0 && model < MODEL_KIND_COUNT ? (enum model_kind)model
                                                       : MODEL_UNKNOWN,
        .batch = (int)fmin(number(v, "batch", 0), 1e9),
        .gmac_per_sample = number(v, "gmac", 0),
        .params_millions = number(v, "params", 0),
        .memory_mb_per_sample = number(v, "sample_mb", 0)};
    if (family)
        str_copy(job->descriptor.family, sizeof(job->descriptor.family), family);
    if (name)
        str_copy(job->name, sizeof(job->name), name);
    *m = (struct member){
        .job = job,
        .nodes = (int)fmin(fmax(number(v, "nodes", 1), 1), LOOP_MAX_GANG),
        .demand = fmax(number(v, "demand", 0), 0),
    };
}

static int type_named(const struct cluster *c, const char *name)
{
    for (int t = 0; name && t < c->type_count; t++)
        if (strcmp(c->types[t].name, name) == 0)
            return t;
    return -1;
}

static void load_one(struct memory *m, const struct json_value *v)
{
    const struct json_value *members = json_value_get(v, "jobs");
    struct seen seen = {0};
    struct observation *o = &seen.observation;
    size_t count = json_value_count(members);

    o->where.type = type_named(m->cluster, json_value_string(json_value_get(v, "type")));
    o->where.count = (int)count;
    o->where.cap_watts = number(v, "cap", 0);
    o->subject = (int)number(v, "subject", 0);
    o->at_s = number(v, "at", 0);
    o->rate = number(v, "rate", 0);
    o->rate_sd_log = number(v, "sd", 0.05);
    o->device_watts = number(v, "watts", NAN);
    json_value_bool(json_value_get(v, "memory"), &o->out_of_memory);
    if (o->where.type < 0 || count < 1 || count > LOOP_MAX_SHARE || o->subject < 0 ||
        o->subject >= (int)count || (!o->out_of_memory && !(o->rate > 0)))
        return; /* of a type the cluster does not have any more, or not ours */
    for (size_t i = 0; i < count; i++)
        load_member(json_value_item(members, i), &seen.jobs[i], &o->where.members[i]);
    memory_add(m, o);
}

int memory_load(struct memory *m, const char *text, size_t length, struct err *err)
{
    struct json_doc *doc;

    if (json_doc_parse(&doc, text, length, "checkpoint", err) < 0)
        return -1;
    for (size_t i = 0; i < json_value_count(json_doc_root(doc)); i++)
        load_one(m, json_value_item(json_doc_root(doc), i));
    json_doc_destroy(doc);
    return 0;
}
