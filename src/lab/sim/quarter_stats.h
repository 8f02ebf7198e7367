/* quarter_stats.h - one run cut into quarters: does it get better as it learns?
 *
 * The time between the first and the last arrival is cut into four; what comes after the
 * last arrival, when the cluster empties and empty nodes are free, is kept apart, so that
 * it does not pass for something learned.  The five together are the whole run.  Only
 * looks on: books nothing, so a run is the same to the last bit with and without it. */
#pragma once

#include <stddef.h>

#define QUARTERS       4
#define QUARTERS_AFTER 4 /* index of the part after the last arrival */
#define QUARTERS_PARTS 5

struct quarter {
    double seconds;
    double energy_j;
    double work_h; /* in reference GPU hours; work that a failure destroys counts against
                      the quarter of the failure */
    double counted_s, violated_s; /* job-time judged, and of that not met */
    double moves;
    double sights;    /* first estimates that were then measured */
    double log_error; /* sum of their |log(measured / estimated)| */
};

struct quarters {
    int open;                   /* the part that goes on now */
    double borders_s[QUARTERS]; /* where the first four end */
    struct quarter before;      /* all of the run up to where the open part began */
    struct quarter parts[QUARTERS_PARTS];
};

/* Over what there was of it; NaN where there was nothing. */
double quarter_wh_per_work(const struct quarter *q);
double quarter_sla_time(const struct quarter *q);
double quarter_error_percent(const struct quarter *q); /* of first estimates */

struct sim;
struct workload;

void quarters_init(struct quarters *q, const struct workload *workload);

/* The clock is about to go to at_s: close what ends on the way.  sim->now_s moves to the
 * last border passed. */
void quarters_reach(struct sim *sim, double at_s);
/* Close the open part at sim->now_s. */
void quarters_end(struct sim *sim);

void quarters_sight(struct quarters *q, double abs_log_error);
