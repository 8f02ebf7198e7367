/* quote_private.h - what quote.c and settle.c share */
#pragma once

#include "loop/admit/quote.h"

/* What a type of GPU would do for the job, alone. */
struct quote_option {
    int type; /* -1: none */
    struct estimate rate, watts;
    double sure; /* rate at the confidence of the promise */
};

struct quote_search {
    const struct quote_ground *ground;
    const struct job *job;
    double needed, confidence;
    bool any_type; /* some allowed type has enough devices */
    bool open;     /* of some type it is not known whether it keeps the requirement */
    double chance; /* of the type with the best one */
    struct quote_option best;
};

/* What must the job have, could it run here at all, and what could be promised of it at
 * best?  Fills all but ground and job. */
void quote_survey(struct quote_search *f, double steps_done);

/* The job of this id in the input; NULL: it is not there. */
const struct job_status *quote_status_of(const struct optimize_input *in, uint64_t id);

/* What can be had instead of what is needed. */
void quote_counter(const struct quote_search *f, struct quote *q);

void quote_set_energy(struct quote *q, const struct job *job);
