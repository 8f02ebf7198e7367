/* store_energy.h - joules by job, user, device and hour, summed as they come
 *
 * Who used what is decided before it gets here: each share of a device's energy is added
 * once, with its job (0: idle) and its user.  Sums stay when jobs are removed. */
#ifndef CORGI_STORE_STORE_ENERGY_H
#define CORGI_STORE_STORE_ENERGY_H

#include "store/reader.h"
#include "store/store.h"

struct store_energy {
    double at_s; /* decides the hour */
    const char *device;
    uint64_t job;     /* 0: nobody's, the device was idle or its host */
    const char *user; /* NULL with job 0 */
    double joules;
    double error_joules;    /* half width of its 90 % interval; they add up */
    double modelled_joules; /* the part that no meter measured */
    double busy_s;          /* device time */
    double saved_joules; /* against the reference policy, may be negative; 0: unknown */
};

void store_add_energy(struct store_batch *batch, const struct store_energy *energy);

enum store_energy_by {
    STORE_ENERGY_TOTAL,
    STORE_ENERGY_BY_JOB,
    STORE_ENERGY_BY_USER,
    STORE_ENERGY_BY_DEVICE,
    STORE_ENERGY_BY_HOUR, /* days, where hours were folded into days */
    STORE_ENERGY_BY_DAY,
};

struct store_energy_filter {
    double from_s;      /* whole hours: the hour it lies in counts; 0: any */
    double to_s;        /* 0: any */
    uint64_t job;       /* 0: any */
    const char *user;   /* NULL: any */
    const char *device; /* NULL: any */
    int limit;          /* 0: 10000 */
};

struct store_energy_sum {
    double start_s; /* BY_HOUR, BY_DAY; else the first hour in it */
    double span_s;
    uint64_t job;       /* BY_JOB; else 0 */
    const char *user;   /* BY_USER and BY_JOB; else NULL */
    const char *device; /* BY_DEVICE; else NULL */
    double joules, error_joules, modelled_joules, busy_s, saved_joules;
};

typedef int (*store_energy_row)(void *ctx, const struct store_energy_sum *sum);

/* By time the oldest first, else the largest first. */
int store_read_energy(struct store_reader *reader, enum store_energy_by by,
                      const struct store_energy_filter *filter, store_energy_row row,
                      void *ctx, struct err *err);

#endif
