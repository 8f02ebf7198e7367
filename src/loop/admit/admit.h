/* admit.h - the stage that answers a request
 *
 * A request is checked, estimated and answered with a quote: what can be promised, where,
 * at which power; or a counter-offer; or a refusal that says why.  Never a silent drop.
 */
#ifndef CORGI_LOOP_ADMIT_ADMIT_H
#define CORGI_LOOP_ADMIT_ADMIT_H

#include "base/err.h"
#include "loop/types.h"
#include "model/model.h"
#include "loop/planner.h"

enum verdict {
    ADMIT_ACCEPTED, /* the requirement is believed to be possible on this cluster */
    ADMIT_COUNTER,  /* it is not; counter_rate is what could be promised instead */
    ADMIT_REFUSED,  /* it can never run here */
};

struct admission {
    enum verdict verdict;
    int type;              /* the quoted GPU type; -1 when refused */
    struct estimate rate;  /* there, alone */
    struct estimate watts; /* of each device */
    double promised_rate;  /* with the confidence asked for */
    double counter_rate;   /* 0 unless a counter-offer */
    char reason[160];
};

/* Refuses a malformed request: numbers that are not finite, out of range or contradict
 * each other.  err names the field. */
int admit_check(const struct job *job, const struct cluster *cluster, struct err *err);

/* Answer a well-formed request; the model has begun the job. */
void admit_decide(const struct job *job, const struct cluster *cluster,
                  struct model *model, const struct optimize_settings *settings,
                  struct admission *out);

const char *admit_verdict_name(enum verdict verdict);

#endif
