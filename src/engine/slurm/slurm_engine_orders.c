/* slurm_engine_orders.c - the operations of the mode `control`: jobs go to
 * slurm_control.c, nodes are ordered here */
#include "engine/slurm/slurm_engine_private.h"

#include "base/clock.h"
#include "base/str.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_caps.h"
#include "engine/slurm/slurm_control.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"

#include <string.h>

/* ---- control: what the loop decides is ordered --------------------------------------
 */

/* Whatever is to be ordered is sent by the next dispatch. */
static int soon(struct slurm_engine *e, int rc)
{
    slurm_engine_arm(e, 0);
    return rc;
}

static int control_enter(void *self, const struct engine_job *job, struct err *err)
{
    struct slurm_engine *e = self;

    return soon(e, slurm_control_enter(e->control, job, err));
}

static int control_leave(void *self, uint64_t job, struct err *err)
{
    struct slurm_engine *e = self;

    (void)err;
    return soon(e, slurm_control_leave(e->control, job));
}

static int control_start(void *self, const struct engine_job *job, struct err *err)
{
    struct slurm_engine *e = self;

    return soon(e, slurm_control_start(e->control, job, err));
}

static int control_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    struct slurm_engine *e = self;

    return soon(e, slurm_control_stop(e->control, job, how, err));
}

static int control_cap(void *self, int device, double watts, struct err *err)
{
    struct slurm_engine *e = self;
    const char *name, *address;
    int first, node;

    if (!e->caps)
        return err_set(err, ERR_UNSUPPORTED,
                       "slurm.cap_program is not set, and Slurm sets no power limits");
    node = slurm_node_table_of(e->nodes, device, &first);
    slurm_node_table_name(e->nodes, node, &name, &address);
    slurm_caps_set(e->caps, device, name, device - first, watts);
    return soon(e, 0);
}

static int order_node(const struct slurm_engine *e, int node, const char *state,
                      struct err *err)
{
    const char *name, *address;
    struct str members = {0};
    bool sent;

    slurm_node_table_name(e->nodes, node, &name, &address);
    str_addf(&members, "\"node\":\"%s\",\"state\":\"%s\"", name, state);
    sent = helper_link_order(e->link, "update_node", str_text(&members), SLURM_NODE_TAG);
    str_fini(&members);
    return sent ? 0 : err_set(err, ERR_BUSY, "Slurm cannot be told now");
}

/* Where Slurm alone puts nodes to sleep, one wakes when a job is to start there, and not
 * because somebody would rather have it awake: see slurm_placing.c. */
static int control_wake(void *self, int node, struct err *err)
{
    const struct slurm_engine *e = self;

    if (!e->options.sleep || !slurm_node_table_wake(e->nodes, node, clock_epoch_s()))
        return 0;
    if (order_node(self, node, "power_up", err) == 0)
        return 0;
    slurm_node_table_sleep(e->nodes, node); /* nobody has told it */
    return -1;
}

static int control_sleep(void *self, int node, struct err *err)
{
    const struct slurm_engine *e = self;

    if (!e->options.sleep)
        return err_set(err, ERR_UNSUPPORTED,
                       "slurm.sleep is off: Slurm alone puts nodes to sleep");
    if (order_node(self, node, "power_down", err) < 0)
        return -1;
    slurm_node_table_sleep(e->nodes, node);
    return ENGINE_FALLING;
}

static int control_adopt(void *self, const struct engine_job *job, struct err *err)
{
    struct slurm_engine *e = self;

    if (job->ref && strchr(job->ref, '@')) { /* only watched */
        slurm_job_table_adopt(e->jobs, job);
        return 0;
    }
    return slurm_control_adopt(e->control, job, err);
}

struct engine_ops slurm_engine_control(const struct engine_ops *watching)
{
    struct engine_ops ops = *watching;

    ops.enter = control_enter;
    ops.leave = control_leave;
    ops.start = control_start;
    ops.stop = control_stop;
    ops.cap = control_cap;
    ops.wake = control_wake;
    ops.sleep = control_sleep;
    ops.adopt = control_adopt;
    return ops;
}
