/* slurm_token.h - what a token looks like that job_submit_corgi gives to one of Slurm's
 * jobs
 *
 * Random hexadecimal digits.  Whose it is does not stand in it, as the plugin makes it
 * before the job has a number: the daemon finds its SHA-256 in the job's AdminComment. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define SLURM_TOKEN_DIGITS 48

static inline bool slurm_token_is(const char *text)
{
    return strspn(text, "0123456789abcdef") == SLURM_TOKEN_DIGITS &&
           !text[SLURM_TOKEN_DIGITS];
}
