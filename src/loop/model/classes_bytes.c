/* classes_bytes.c - what is known of classes, for checkpoints; see classes.h */
#include "loop/model/classes.h"

#include "loop/model/classes_state.h"
#include "loop/refine/pairs_bytes.h"

#include <math.h>

#define CELLS_MAX   (1 << 24)
#define DEVICES_MAX 4096

static void put_tally(const struct tally *t, struct bytes_out *out)
{
    const double reals[] = {t->mean, t->var, t->jobs, t->pushed};

    bytes_put_reals(out, reals, 4);
    bytes_put_u64(out, t->inferred);
}

static struct tally get_tally(struct bytes_in *in)
{
    struct tally t;

    t.mean = bytes_real(in);
    t.var = fmax(bytes_real(in), 0);
    t.jobs = fmax(bytes_real(in), 0);
    t.pushed = bytes_real_or_nan(in);
    t.inferred = bytes_int(in, 0, 1);
    return t;
}

static void put_alone(const struct classes *c, struct bytes_out *out)
{
    size_t types = (size_t)c->type_count;
    uint64_t kept = 0;

    for (size_t cls = 0; cls < c->states.count; cls++)
        kept += bytes_class(out, (int)cls) >= 0;
    bytes_put_u64(out, kept);
    for (size_t cls = 0; cls < c->states.count; cls++)
        for (size_t t = 0; bytes_class(out, (int)cls) >= 0 && t < types; t++)
            put_tally(&c->alone.items[cls * types + t], out);
}

static bool both_kept(const struct bytes_out *out, struct cell cell)
{
    return bytes_class(out, cell.job) >= 0 && bytes_class(out, cell.other) >= 0;
}

static void put_beside(const struct classes *c, struct bytes_out *out)
{
    uint64_t kept = 0;

    vec_each (const struct beside, b, &c->beside)
        kept += both_kept(out, b->cell);
    bytes_put_u64(out, kept);
    vec_each (const struct beside, b, &c->beside) {
        if (!both_kept(out, b->cell))
            continue;
        bytes_put_u64(out, (uint64_t)bytes_class(out, b->cell.job));
        bytes_put_u64(out, (uint64_t)b->cell.gpu);
        bytes_put_u64(out, (uint64_t)bytes_class(out, b->cell.other));
        put_tally(&b->tally, out);
    }
}

static void put_gangs(const struct classes *c, struct bytes_out *out)
{
    vec_each (const struct gang, g, &c->gangs) {
        if (bytes_class(out, g->gang.cls) < 0)
            continue;
        bytes_put_u64(out, 1);
        bytes_put_u64(out, (uint64_t)bytes_class(out, g->gang.cls));
        bytes_put_u64(out, (uint64_t)g->gang.type);
        bytes_put_u64(out, (uint64_t)g->gang.devices);
        bytes_put_u64(out, g->gang.spread);
        put_tally(&g->tally, out);
    }
    bytes_put_u64(out, 0);
}

void classes_write(const struct classes *c, struct bytes_out *out)
{
    rates_write(c->rates, out);
    bytes_put_reals(out, c->carry.error, CARRY_STEPS);
    bytes_put_real(out, c->carry.count);
    bytes_put_real(out, c->carry.groups);
    pairs_write(c->pairs, out);
    footprint_write(c->footprint, out);
    watts_write(c->watts, out);
    put_alone(c, out);
    put_beside(c, out);
    put_gangs(c, out);
}

static void get_alone(struct classes *c, struct bytes_in *in)
{
    size_t types = (size_t)c->type_count;
    size_t count = bytes_count(in, PAIRS_MAX_JOBS, 40 * types);

    for (size_t i = 0; i < count; i++) {
        classes_push(c);
        for (size_t t = 0; t < types; t++) {
            struct tally *tally = classes_tally(c, (int)i, (int)t);

            *tally = get_tally(in);
            c->alone_cells += !isnan(tally->pushed);
        }
    }
    c->alone_news = c->alone_cells;
}

static void get_beside(struct classes *c, struct bytes_in *in)
{
    size_t count = bytes_count(in, CELLS_MAX, 64);
    int classes = (int)c->states.count;

    for (size_t i = 0; i < count && !in->bad; i++) {
        struct beside b;

        b.cell.job = bytes_int(in, 0, classes - 1);
        b.cell.gpu = bytes_int(in, 0, c->type_count - 1);
        b.cell.other = bytes_int(in, 0, classes - 1);
        b.tally = get_tally(in);
        if (in->bad)
            return;
        map_put(c->beside_index, classes_cell_key(b.cell), i);
        vec_push(&c->beside, b);
        c->states.items[b.cell.job].told++;
        c->states.items[b.cell.other].told++;
    }
}

static void get_gangs(struct classes *c, struct bytes_in *in)
{
    while (bytes_int(in, 0, 1)) {
        struct gang g;

        g.gang.cls = bytes_int(in, 0, (int)c->states.count - 1);
        g.gang.type = bytes_int(in, 0, c->type_count - 1);
        g.gang.devices = bytes_int(in, 1, DEVICES_MAX);
        g.gang.spread = bytes_int(in, 0, 1);
        g.tally = get_tally(in);
        map_put(c->gang_index, classes_gang_key(&g.gang), c->gangs.count);
        vec_push(&c->gangs, g);
    }
}

/* Every part numbers the same classes. */
static bool agree(const struct classes *c)
{
    int count = (int)c->states.count;

    return rates_job_count(c->rates) == count &&
           core_job_count(pairs_core(c->pairs)) == count &&
           footprint_count(c->footprint) == count && watts_job_count(c->watts) == count;
}

void classes_read(struct classes *c, struct bytes_in *in)
{
    rates_read(c->rates, in);
    for (int i = 0; i < CARRY_STEPS; i++)
        c->carry.error[i] = fmax(bytes_real(in), 0);
    c->carry.count = fmax(bytes_real(in), 0);
    c->carry.groups = fmax(bytes_real(in), 0);
    rates_set_weight(c->rates, carry_evidence_weight(&c->carry));
    pairs_read(c->pairs, in);
    footprint_read(c->footprint, in);
    watts_read(c->watts, in);
    get_alone(c, in);
    get_beside(c, in);
    get_gangs(c, in);
    if (!in->bad && !agree(c))
        in->bad = true;
}
