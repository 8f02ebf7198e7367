/* job_accounting.h - ends of jobs in slurmdbd's database */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "engine/slurm/slurm_completions.h"

/* The job of the request `ended`: job, since_s, submit_s, mark.  1: found; 0: slurmdbd
 * has no end of it.  ERR_SYSTEM: slurmdbd does not answer; ERR_BUSY: it has not answered
 * another question yet.  Blocks for as long as libslurm waits. */
int job_accounting_find(const struct json_value *request, struct slurm_completion *found,
                        struct err *err);
