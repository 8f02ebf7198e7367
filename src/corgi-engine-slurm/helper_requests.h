/* helper_requests.h - what the helper can be asked, and what it refuses
 *
 * One table names every request and says whether it changes anything in Slurm.  The
 * refusal of --read-only stands in one place, helper_request_find(): what is not found
 * there cannot run. */
#pragma once

#include "corgi-engine-slurm/slurm_orders.h"
#include "corgi-engine-slurm/slurm_source.h"

#include <stdbool.h>

/* Of what the two sides say to each other; see docs/slurm.md. */
#define HELPER_VERSION 1

enum helper_table {
    HELPER_NODES,
    HELPER_PARTITIONS,
    HELPER_RESERVATIONS,
    HELPER_JOBS,
    HELPER_TABLES
};

struct helper_request {
    const char *op;
    bool modifies;            /* refused with --read-only */
    slurm_source_table *load; /* of a table; NULL: no table */
    enum helper_table table;
    int (*run)(struct json_out *out, struct err *err); /* of what is told otherwise */
    slurm_order *order;                                /* of what modifies */
};

/* The request of this name.  NULL: err says why it is refused, ERR_NOT_FOUND, or
 * ERR_INFEASIBLE for what --read-only forbids. */
const struct helper_request *helper_request_find(const char *op, bool read_only,
                                                 struct err *err);
