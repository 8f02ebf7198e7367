/* arrivals.c - a list of arrivals as requests: scenario.c loads a public trace through
 * here */
#include "lab/traces/arrivals.h"

#include "base/rng.h"
#include "base/vec.h"
#include "engine/sim/truth.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DAY_S           86400.0
#define MAX_COLUMNS     8
#define STREAM_ARRIVALS 6
/* In a squeezed part no job is longer than in the generator. */
/* Use that was counted and use in the world's tables are alike up to this. */
#define USE_ROOM       0.05
#define SQUEEZED_MAX_S DAY_S
/* Nobody waits for less: jobs that failed at once are not worth a schedule. */
#define DURATION_MIN_S 1.0

void arrivals_fini(struct arrivals *a)
{
    free(a->items);
    *a = (struct arrivals){0};
}

static int by_time(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->duration_s != y->duration_s)
        return x->duration_s < y->duration_s ? -1 : 1;
    return x->devices - y->devices;
}

int arrivals_finish(struct arrivals *a, const char *name, struct err *err)
{
    double first_s;

    if (a->count == 0)
        return err_set(err, ERR_FORMAT,
                       "%s holds no job that used a GPU; add a line for each", name);
    qsort(a->items, a->count, sizeof(*a->items), by_time);
    first_s = a->items[0].at_s;
    for (size_t i = 0; i < a->count; i++)
        a->items[i].at_s -= first_s;
    return 0;
}

/* ---- formats ----------------------------------------------------------------------- */

static int read_philly(const struct csv *csv, const int *columns, struct arrival *a,
                       struct err *err)
{
    if (csv_double(csv, columns[0], 0, ARRIVALS_MAX_S, &a->at_s, err) < 0 ||
        csv_double(csv, columns[1], 0, ARRIVALS_MAX_S, &a->duration_s, err) < 0 ||
        csv_int(csv, columns[2], 0, ARRIVALS_MAX_DEVICES, &a->devices, err) < 0)
        return -1;
    return a->devices > 0 && a->duration_s > 0; /* else it never ran on a GPU */
}

enum { POD_GPUS, POD_QOS, POD_CREATED, POD_DELETED, POD_SCHEDULED, POD_SPEC, POD_MILLI };

static int class_of(const struct csv *csv, const char *qos, enum arrival_class *class,
                    struct err *err)
{
    static const struct {
        const char *qos;
        enum arrival_class class;
    } classes[] = {{"LS", ARRIVAL_SERVICE},
                   {"Guaranteed", ARRIVAL_SERVICE},
                   {"Burstable", ARRIVAL_TRAINING},
                   {"BE", ARRIVAL_BEST_EFFORT}};

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (!strcmp(qos, classes[i].qos)) {
            *class = classes[i].class;
            return 0;
        }
    return csv_refuse(csv, err, ERR_INVALID,
                      "qos '%s' is none of LS, Guaranteed, Burstable and BE; correct it",
                      qos);
}

/* The catalogue's name of a type; NULL: the same. */
static const char *catalogue_name(const char *spec, size_t length)
{
    static const struct {
        const char *spec;
        const char *name;
    } names[] = {{"V100M16", "v100-16"}, /* V100s with so much memory */
                 {"V100M32", "v100-32"},
                 {"G2", "a10"}, /* stand-ins, see arrivals.h */
                 {"G3", "a100"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].spec) == length && !strncmp(spec, names[i].spec, length))
            return names[i].name;
    return NULL;
}

static void copy_spec(struct arrival *a, const char *spec)
{
    size_t used = 0;

    while (*spec) {
        size_t length = strcspn(spec, "|");
        const char *name = catalogue_name(spec, length);
        int wrote = name ? snprintf(a->gpus + used, sizeof(a->gpus) - used, "%s|", name)
                         : snprintf(a->gpus + used, sizeof(a->gpus) - used, "%.*s|",
                                    (int)length, spec);

        if (wrote < 0 || (size_t)wrote >= sizeof(a->gpus) - used)
            break;
        used += (size_t)wrote;
        spec += length + (spec[length] == '|');
    }
    a->gpus[used] = '\0';
}

/* Thousandths of a GPU, as far as it is less than one. */
static int read_share(const struct csv *csv, int column, struct arrival *a,
                      struct err *err)
{
    int milli;

    if (column < 0 || !*csv_field(csv, column))
        return 0;
    if (csv_int(csv, column, 0, 1000, &milli, err) < 0)
        return -1;
    a->share = a->devices == 1 && milli < 1000 ? milli / 1000.0 : 0;
    return 0;
}

static int read_alibaba(const struct csv *csv, const int *columns, struct arrival *a,
                        struct err *err)
{
    double deleted_s, scheduled_s;

    if (csv_int(csv, columns[POD_GPUS], 0, ARRIVALS_MAX_DEVICES, &a->devices, err) < 0 ||
        csv_double(csv, columns[POD_CREATED], 0, ARRIVALS_MAX_S, &a->at_s, err) < 0 ||
        class_of(csv, csv_field(csv, columns[POD_QOS]), &a->class, err) < 0 ||
        read_share(csv, columns[POD_MILLI], a, err) < 0)
        return -1;
    if (a->devices == 0 || !*csv_field(csv, columns[POD_SCHEDULED]) ||
        !*csv_field(csv, columns[POD_DELETED]))
        return 0;
    if (csv_double(csv, columns[POD_DELETED], 0, ARRIVALS_MAX_S, &deleted_s, err) < 0 ||
        csv_double(csv, columns[POD_SCHEDULED], 0, ARRIVALS_MAX_S, &scheduled_s, err) < 0)
        return -1;
    a->duration_s = deleted_s - scheduled_s;
    copy_spec(a, csv_field(csv, columns[POD_SPEC]));
    return a->duration_s > 0;
}

/* What a format of CSV is to the reading below; in the order of enum arrivals_format. */
static const struct format {
    const char *columns[MAX_COLUMNS]; /* the rows are read by; the needed ones first */
    int needed;
    /* 1: an arrival, 0: a row to leave out, -1: an error.  *arrival comes zeroed. */
    int (*read_row)(const struct csv *csv, const int *columns, struct arrival *arrival,
                    struct err *err);
} formats[] = {
    {{"arrival_s", "duration_s", "num_gpus"}, 3, read_philly},
    {{"num_gpu", "qos", "creation_time", "deletion_time", "scheduled_time", "gpu_spec",
      "gpu_milli"},
     5,
     read_alibaba},
};

static int find_columns(const struct csv *csv, const struct format *format, int *columns,
                        struct err *err)
{
    for (int i = 0; i < MAX_COLUMNS && format->columns[i]; i++) {
        columns[i] = csv_column(csv, format->columns[i]);
        if (i < format->needed && csv_need(csv, format->columns[i], &columns[i], err) < 0)
            return -1;
    }
    return 0;
}

static int read_rows(struct arrivals *arrivals, struct csv *csv, const char *name,
                     const struct format *format, struct err *err)
{
    vec_of(struct arrival) list = {0};
    int columns[MAX_COLUMNS], more, rc = -1;
    struct arrivals made;

    if (find_columns(csv, format, columns, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct arrival a;
        int taken;

        memset(&a, 0, sizeof(a));
        taken = format->read_row(csv, columns, &a, err);
        if (taken < 0)
            goto done;
        if (list.count == WORKLOAD_MAX_REQUESTS) {
            csv_refuse(csv, err, ERR_LIMIT, "more than %d jobs; split the trace",
                       WORKLOAD_MAX_REQUESTS);
            goto done;
        }
        if (taken)
            vec_push(&list, a);
    }
    if (more < 0)
        goto done;
    made = (struct arrivals){.count = list.count, .items = list.items};
    if (arrivals_finish(&made, name, err) < 0)
        goto done;
    *arrivals = made;
    list.items = NULL; /* the caller's now */
    rc = 0;
done:
    free(list.items);
    return rc;
}

int arrivals_load(struct arrivals *arrivals, const char *path,
                  enum arrivals_format format, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    rc = read_rows(arrivals, csv, path, &formats[format], err);
    csv_destroy(csv);
    return rc;
}

struct class_list {
    vec_of(int) ids;
};

/* Only those stay that use this GPU about as much as was counted. */
static void keep_like_use(struct class_list *found, const struct world *world, int gpu,
                          double use)
{
    double nearest = INFINITY;
    size_t kept = 0;

    for (size_t i = 0; i < found->ids.count; i++)
        nearest = fmin(nearest, fabs(*world_busy(world, gpu, found->ids.items[i]) - use));
    for (size_t i = 0; i < found->ids.count; i++)
        if (fabs(*world_busy(world, gpu, found->ids.items[i]) - use) <=
            nearest + USE_ROOM)
            found->ids.items[kept++] = found->ids.items[i];
    found->ids.count = kept;
}

/* A class on the largest number of GPUs that somebody measured and that is not more than
 * asked for; one that runs on this type of GPU, -1: on any.  With a GPU, one that uses it
 * about as much; 0: that is not known. */
static int draw_class(const struct world *world, int devices, int gpu, double use,
                      struct rng *rng)
{
    struct class_list found = {0};
    int scale = 0, drawn;

    for (int c = 0; c < world->class_count; c++) {
        bool runs = false;

        for (int g = 0; g < world->gpu_count; g++)
            runs = runs || ((gpu < 0 || g == gpu) && *world_alone(world, g, c) > 0);
        if (!runs || world->classes[c].scale > devices || world->classes[c].scale < scale)
            continue;
        if (world->classes[c].scale > scale)
            vec_clear(&found.ids);
        scale = world->classes[c].scale;
        vec_push(&found.ids, c);
    }
    if (gpu >= 0 && use > 0)
        keep_like_use(&found, world, gpu, use);
    drawn = found.ids.count ? found.ids.items[rng_below(rng, found.ids.count)] : 0;
    vec_free(&found.ids);
    return drawn;
}

static bool runs_on(const struct world *world, int cls, const struct gpu_sheet *type)
{
    int gpu = world_find_gpu(world, type->name);

    return gpu >= 0 && *world_alone(world, gpu, cls) > 0;
}

/* The cluster's types that a list of names means, as far as the class that was drawn runs
 * there; 0 (any) when there is none of them. */
static uint64_t types_named(const struct cluster *cluster, const char *gpus,
                            const struct world *world, int cls)
{
    uint64_t types = 0;

    while (*gpus) {
        size_t length = strcspn(gpus, "|");
        char name[ARRIVALS_GPUS_SIZE];

        memcpy(name, gpus, length);
        name[length] = '\0';
        for (int t = 0; t < cluster->type_count; t++)
            if (length && gpu_named(&cluster->types[t], name) &&
                runs_on(world, cls, &cluster->types[t]))
                types |= (uint64_t)1 << t;
        gpus += length + (gpus[length] == '|');
    }
    return types;
}

static void set_kind(struct sim_request *r, enum arrival_class class, double inference,
                     struct rng *rng)
{
    bool service = rng_uniform(rng) < inference;

    if (class != ARRIVAL_ANY)
        service = class == ARRIVAL_SERVICE;
    r->job.kind = service ? JOB_INFERENCE : JOB_TRAINING;
    r->job.need.kind = service ? NEED_SERVICE : NEED_RATE;
    if (class == ARRIVAL_BEST_EFFORT)
        r->job.need = (struct requirement){.kind = NEED_BEST_EFFORT};
}

/* What it is to do, in seconds: the same device-seconds on the number of GPUs that was
 * found for it. */
static double seconds_of(const struct arrival *a, const struct arrivals_use *use,
                         const struct sim_request *r)
{
    double work_s = a->duration_s * a->devices / r->job.devices;

    if (use->load > 0)
        work_s = fmin(work_s, SQUEEZED_MAX_S);
    return fmax(work_s, DURATION_MIN_S);
}

static struct sim_request make_request(const struct arrival *a,
                                       const struct arrivals_use *use,
                                       const struct world *world, int reference_gpu,
                                       struct rng *rng)
{
    static const double shares[] = {0.15, 0.3, 0.5, 0.7};
    struct sim_request r = {0};
    double drawn, work_s;
    int cls = draw_class(world, a->devices, -1, 0, rng);

    drawn = shares[rng_below(rng, 4)];
    request_describe(&r, world, cls, reference_gpu, a->share > 0 ? a->share : drawn);
    set_kind(&r, a->class, use->inference, rng);
    r.phase = rng_range(rng, 0, 2 * M_PI);
    r.hidden = rng_u64(rng);
    r.job.types_allowed = types_named(use->cluster, a->gpus, world, r.cls);
    work_s = seconds_of(a, use, &r);
    if (r.job.kind == JOB_INFERENCE) {
        r.peak_rate = r.job.need.rate;
        r.serve_s = work_s;
    } else {
        r.steps = work_s * r.reference_rate;
    }
    return r;
}

/* Keep the job to the nodes of its group: to the types that have as many devices there as
 * it asks for.  Partitions change, so a job may have been where nothing is left: it is
 * free then. */
static void bind_to_group(struct sim_request *r, int group, const struct cluster *c,
                          const struct world *world)
{
    uint64_t types = 0;

    for (int t = 0; t < c->type_count; t++) {
        int devices = 0;

        for (int d = 0; d < c->device_count; d++)
            devices += c->devices[d].type == t &&
                       c->nodes[c->devices[d].node].access.groups >> group & 1;
        if (devices >= r->job.devices && requirement_allows_type(&r->job, t) &&
            runs_on(world, r->cls, &c->types[t]))
            types |= (uint64_t)1 << t;
    }
    if (group == 0 || types == 0)
        return;
    r->job.group = group;
    r->job.types_allowed = types;
}

/* The rate it had alone there; 0: not known. */
static double rate_on(const struct sim_request *r, const struct arrival *a,
                      const struct arrivals_use *use, const struct world *world, int gpu)
{
    struct truth truth = {.world = world, .gpu_of_type = &gpu, .alone_sd = use->alone_sd};
    double rate;

    if (gpu < 0)
        return 0;
    rate = truth_alone(&truth, r, 0, r->job.devices > 1 ? a->nodes : 1);
    return rate > 0 ? rate : truth_alone(&truth, r, 0, 1); /* nobody measured it spread */
}

/* A job whose place is known: it has its hidden factors from the start, and so the very
 * rate it would have there again. */
static struct sim_request make_as_it_ran(const struct arrival *a,
                                         const struct arrivals_use *use,
                                         const struct world *world, int reference_gpu,
                                         struct rng *rng)
{
    int gpu = world_find_gpu(world, a->ran_on);
    struct sim_request r = {.job = {.kind = JOB_TRAINING}, .hidden = rng_u64(rng)};
    struct rng own;
    double rate;
    int cls;

    if (gpu < 0) /* a table of measured rates does not have it */
        gpu = reference_gpu;
    rng_init(&own, a->like ? rng_mix(use->seed, a->like) : r.hidden);
    cls = draw_class(world, a->devices, gpu, a->gpu_use, &own);
    request_describe(&r, world, cls, reference_gpu, 0);
    rate = rate_on(&r, a, use, world, gpu);
    for (const char *other = a->beside_on; *other;) {
        size_t length = strcspn(other, "|");
        char name[ARRIVALS_GPUS_SIZE];
        double slower;

        memcpy(name, other, length);
        name[length] = '\0';
        slower = rate_on(&r, a, use, world, world_find_gpu(world, name));
        rate = slower > 0 ? fmin(rate, slower) : rate;
        other += length + (other[length] == '|');
    }
    if (!(rate > 0))
        rate = r.reference_rate;
    r.job.owner = a->owner;
    r.job.need = (struct requirement){
        .kind = NEED_RATE, .rate = (a->share > 0 ? a->share : ARRIVALS_KEPT) * rate};
    r.job.types_allowed = types_named(use->cluster, a->gpus, world, r.cls);
    bind_to_group(&r, a->group, use->cluster, world);
    r.steps = seconds_of(a, use, &r) * rate;
    return r;
}

/* Where the part begins that a load asks for. */
static size_t first_of(const struct arrivals *a, const struct arrivals_use *use,
                       struct rng *rng)
{
    return use->load > 0 ? rng_below(rng, a->count) : 0;
}

/* Stretch or squeeze the arrivals into the days. */
static void fit_times(struct sim_request *requests, size_t count, double days)
{
    double first_s = requests[0].job.submitted_s;
    double span_s = fmax(1, requests[count - 1].job.submitted_s - first_s);

    for (size_t i = 0; i < count; i++)
        requests[i].job.submitted_s =
            (requests[i].job.submitted_s - first_s) / span_s * days * DAY_S;
}

struct workload *arrivals_workload(const struct arrivals *a,
                                   const struct arrivals_use *use,
                                   const struct world *world)
{
    struct workload *w = mem_new(struct workload);
    vec_of(struct sim_request) list = {0};
    size_t most = use->limit ? use->limit : WORKLOAD_MAX_REQUESTS, first;
    double wanted_s = use->load * use->days * DAY_S * use->cluster->device_count;
    struct rng rng;

    rng_stream(&rng, use->seed, STREAM_ARRIVALS);
    w->reference_gpu = request_reference_gpu(world);
    first = first_of(a, use, &rng);
    /* A part may go over the end of the list and on from its beginning. */
    for (size_t i = 0; list.count < most; i++) {
        const struct arrival *from = &a->items[(first + i) % a->count];
        size_t turns = (first + i) / a->count;
        double turn_s = (double)turns * a->items[a->count - 1].at_s;
        struct sim_request r =
            (from->class == ARRIVAL_AS_IT_RAN ? make_as_it_ran : make_request)(
                from, use, world, w->reference_gpu, &rng);

        if (use->load > 0 ? wanted_s <= 0 : i == a->count)
            break;
        r.job.id = list.count + 1;
        r.job.submitted_s = from->at_s + turn_s;
        wanted_s -= workload_device_seconds(&r, world, use->cluster);
        vec_push(&list, r);
    }
    if (use->load > 0 && list.count)
        fit_times(list.items, list.count, use->days);
    w->requests = list.items;
    w->count = list.count;
    w->last_arrival_s = list.count ? list.items[list.count - 1].job.submitted_s : 0;
    return w;
}
