/* deliver.h - what waits in a spool, posted to a daemon
 *
 * Blocks for at most some seconds at a time; corgi-report has nothing else to do. */
#pragma once

#include "base/err.h"
#include "probe/report_spool.h"

enum deliver_result {
    DELIVER_DONE,  /* all of it */
    DELIVER_LATER, /* the daemon cannot be reached, or wants to be asked later */
    DELIVER_NEVER, /* it does not take reports with this token; err says why */
};

/* What the daemon said last. */
struct deliver_told {
    bool stop;    /* the run has lost its claim and must end */
    double ask_s; /* ask so often whether it may go on; 0: no need */
};

struct deliver;

/* NULL: the address cannot be used, or would show the token to everybody. */
struct deliver *deliver_create(const struct report_origin *origin, struct err *err);
void deliver_destroy(struct deliver *d); /* NULL is fine */

enum deliver_result deliver_all(struct deliver *d, struct report_spool *spool,
                                struct err *err);
/* Whether it may go on, also when nothing waits. */
enum deliver_result deliver_ask(struct deliver *d, struct report_spool *spool,
                                struct err *err);
struct deliver_told deliver_told(const struct deliver *d);
