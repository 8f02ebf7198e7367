/* helper_requests.c - helper_server.c looks up here what a client asks for */
#include "corgi-engine-slurm/helper_requests.h"

#include <string.h>

static const struct helper_request requests[] = {
    {.op = "conf", .run = slurm_source_conf},
    {.op = "nodes", .load = slurm_source_nodes, .table = HELPER_NODES},
    {.op = "partitions", .load = slurm_source_partitions, .table = HELPER_PARTITIONS},
    {.op = "reservations",
     .load = slurm_source_reservations,
     .table = HELPER_RESERVATIONS},
    {.op = "jobs", .load = slurm_source_jobs, .table = HELPER_JOBS},
    {.op = "submit", .modifies = true, .order = slurm_order_submit},
    {.op = "update_job", .modifies = true, .order = slurm_order_update_job},
    {.op = "update_node", .modifies = true, .order = slurm_order_update_node},
    {.op = "requeue", .modifies = true, .order = slurm_order_requeue},
    {.op = "signal", .modifies = true, .order = slurm_order_signal},
    {.op = "cancel", .modifies = true, .order = slurm_order_cancel},
    {.op = "ended", .order = slurm_order_ended},
};

const struct helper_request *helper_request_find(const char *op, bool read_only,
                                                 struct err *err)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        const struct helper_request *r = &requests[i];

        if (strcmp(r->op, op) != 0)
            continue;
        if (r->modifies && read_only) {
            err_set(err, ERR_INFEASIBLE,
                    "%s would change something in Slurm, and this "
                    "helper was started with --read-only",
                    op);
            return NULL;
        }
        return r;
    }
    err_set(err, ERR_NOT_FOUND, "there is no request '%.40s'", op);
    return NULL;
}
