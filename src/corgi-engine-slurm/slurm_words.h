/* slurm_words.h - our own names of Slurm's states
 *
 * libslurm exports functions for this that no public header declares. */
#pragma once

#include "base/json_out.h"

#include <stdint.h>

const char *slurm_words_job(uint32_t state);  /* pending, running, ..., unknown */
const char *slurm_words_node(uint32_t state); /* idle, allocated, ..., unknown */

/* "flags": the words of the bits that are set, into the open object. */
void slurm_words_job_flags(struct json_out *out, uint32_t state);
void slurm_words_node_flags(struct json_out *out, uint32_t state);
