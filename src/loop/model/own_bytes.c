/* own_bytes.c - what was measured of each job, for checkpoints; see own.h */
#include "loop/model/own.h"

#define JOBS_MAX 1000000

const struct own *own_next(const struct own_book *b, const struct own *after)
{
    size_t count;
    const struct own *items = own_items(b, &count);
    const struct own *at = after ? after + 1 : items;

    while (at && at < items + count && !at->here)
        at++;
    return at && at < items + count ? at : NULL;
}

static bool kept(const struct own_place *p, const struct bytes_out *out)
{
    for (int i = 0; i < p->neighbours; i++)
        if (bytes_class(out, p->others[i]) < 0)
            return false;
    return true;
}

static void put_place(const struct own_place *p, struct bytes_out *out)
{
    const double reals[] = {p->drift.mean, p->drift.times, p->drift.odd, p->squares,
                            p->surprises,  p->told,        p->at_s,      p->gap_s};

    bytes_put_u64(out, (uint64_t)p->type);
    bytes_put_u64(out, p->spread);
    bytes_put_u64(out, (uint64_t)p->neighbours);
    for (int i = 0; i < p->neighbours; i++)
        bytes_put_u64(out, (uint64_t)bytes_class(out, p->others[i]));
    bytes_put_reals(out, p->busy, (size_t)p->neighbours);
    bytes_put_u64(out, (uint64_t)p->drift.odd_count);
    bytes_put_reals(out, reals, sizeof(reals) / sizeof(reals[0]));
    bytes_put_u64(out, p->stamp);
}

void own_book_write(const struct own_book *b, struct bytes_out *out)
{
    for (const struct own *own = own_next(b, NULL); own; own = own_next(b, own)) {
        int places = 0;

        if (bytes_class(out, own->cls) < 0)
            continue;
        for (int i = 0; i < own->count; i++)
            places += kept(&own->places[i], out);
        bytes_put_u64(out, 1);
        bytes_put_u64(out, own->job);
        bytes_put_u64(out, (uint64_t)bytes_class(out, own->cls));
        bytes_put_u64(out, (uint64_t)places);
        for (int i = 0; i < own->count; i++)
            if (kept(&own->places[i], out))
                put_place(&own->places[i], out);
    }
    bytes_put_u64(out, 0);
}

static void get_place(struct own_place *p, int type_count, int class_count,
                      struct bytes_in *in)
{
    double *const reals[] = {&p->drift.mean, &p->drift.times, &p->drift.odd, &p->squares,
                             &p->surprises,  &p->told,        &p->at_s,      &p->gap_s};

    p->type = bytes_int(in, 0, type_count - 1);
    p->spread = bytes_int(in, 0, 1);
    p->neighbours = bytes_int(in, 0, LOOP_MAX_SHARE - 1);
    for (int i = 0; i < p->neighbours; i++)
        p->others[i] = bytes_int(in, 0, class_count - 1);
    for (int i = 0; i < p->neighbours; i++)
        p->busy[i] = fmin(fmax(bytes_real(in), 0), 1);
    p->drift.odd_count = bytes_int(in, 0, 1000);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        *reals[i] = reals[i] == &p->told ? bytes_real_or_nan(in) : bytes_real(in);
    p->stamp = bytes_u64(in);
    p->key = own_key(p->type, p->others, p->neighbours, p->spread);
}

void own_book_read(struct own_book *b, int class_count, struct bytes_in *in)
{
    int count = 0;

    while (bytes_int(in, 0, 1) && ++count <= JOBS_MAX) {
        uint64_t job = bytes_u64(in);
        int cls = bytes_int(in, 0, class_count - 1);
        struct own *own;

        own_begin(b, job, cls);
        own = own_find(b, job);
        own->count = bytes_int(in, 0, OWN_MAX_PLACES);
        for (int i = 0; i < own->count; i++)
            get_place(&own->places[i], own_type_count(b), class_count, in);
    }
}
