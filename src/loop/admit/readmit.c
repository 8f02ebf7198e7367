/* readmit.c - see readmit.h
 *
 * service/restart.c asks for every live job of the store, once before and once after it
 * has asked the engine. */
#include "loop/admit/readmit.h"

static struct readmit lost(const char *reason)
{
    return (struct readmit){.step = READMIT_REQUEUE, .code = "lost", .reason = reason};
}

struct readmit readmit_decide(const struct readmit_facts *f)
{
    if (f->refused)
        return (struct readmit){
            .step = READMIT_FAIL, .code = "not_started", .reason = f->refused};
    if (f->orphan)
        return (struct readmit){.step = READMIT_CANCEL,
                                .code = "policy",
                                .reason = "the service it belongs to has ended"};
    if (f->state != JOB_RUNNING) /* nobody could tell of requests meanwhile: see */
        return (struct readmit){.step = READMIT_WAIT, .release = f->at_zero};
    if (f->devices_named == 0 || f->devices_found < f->devices_named)
        return lost("a device it ran on is not there any more");
    if (f->seats_refused)
        return lost("the devices it ran on are not for it any more");
    if (f->engine == READMIT_NOT_ASKED)
        return (struct readmit){.step = READMIT_ASK};
    if (f->engine == READMIT_GONE)
        return lost("it did not run any more when the daemon came back");
    return (struct readmit){.step = READMIT_ADOPT};
}
