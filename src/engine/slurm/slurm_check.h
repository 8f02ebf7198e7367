/* slurm_check.h - is this slurm.conf fit for advice, and for control?
 *
 * `corgi slurm check` asks here with what the helper told; nothing is changed. */
#pragma once

#include "base/json.h"
#include "base/vec.h"

enum slurm_verdict {
    SLURM_FINE,
    SLURM_NOTE,    /* good to know */
    SLURM_CONTROL, /* must change before Corgi may place jobs */
    SLURM_ADVICE,  /* must change before advice can be trusted */
};

struct slurm_finding {
    enum slurm_verdict verdict;
    char setting[40];
    char value[120];
    char why[300];
};

typedef vec_of(struct slurm_finding) slurm_findings;

const char *slurm_verdict_name(enum slurm_verdict verdict); /* fine, note, ... */

/* The settings, as the helper's `conf`; appends to findings. */
void slurm_check_conf(const struct json_value *conf, slurm_findings *findings);

/* All nodes with what GPUs they have.  The helper tells them in several answers where
 * there are many. */
struct slurm_nodes_seen;
struct slurm_nodes_seen *slurm_nodes_seen_create(void);
void slurm_nodes_seen_destroy(struct slurm_nodes_seen *seen); /* NULL is fine */

/* The rows of an answer to `nodes`; names of GPU types as in slurm_gres.h. */
void slurm_nodes_seen_add(struct slurm_nodes_seen *seen, const struct json_value *rows,
                          const char *names);

/* After the last answer; appends to findings. */
void slurm_check_nodes(const struct slurm_nodes_seen *seen, slurm_findings *findings);
