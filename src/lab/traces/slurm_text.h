/* slurm_text.h - the small notations of Slurm's tools
 *
 * Lines of a text with their numbers, times and elapsed times.  Lists of hosts are in
 * engine/slurm/slurm_hosts.h, counts of GPUs in slurm_nodes.h. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SLURM_MAX_BYTES ((size_t)256 << 20) /* of a file */
#define SLURM_MAX_LINE  ((size_t)64 << 10)

/* A file's text, to be changed; the caller frees *text. */
int slurm_text_load(char **text, const char *path, struct err *err);

struct slurm_lines {
    const char *name; /* of the file, for messages */
    char *rest;       /* what is not read yet; lines are cut off in place */
    size_t number;    /* of the present line, from 1 */
};

/* Over text that ends in a NUL and is the caller's to change. */
void slurm_lines_init(struct slurm_lines *lines, char *text, const char *name);

/* 1: a line that is not empty, without its end; 0: the end; -1: an error. */
int slurm_lines_next(struct slurm_lines *lines, char **line, struct err *err);

/* "FILE:LINE: " before what err says; returns -1. */
int slurm_lines_refuse(const struct slurm_lines *lines, struct err *err);

/* The text up to a separator, which is cut off; NULL when there is none left. */
char *slurm_cut(char **rest, char separator);

/* 2024-03-01T12:34:56 or seconds since 1970.  Without a zone: taken as UTC, so that
 * differences are right but where summer time begins or ends.  False: no such time. */
bool slurm_time(const char *text, double *seconds);
bool slurm_elapsed(const char *text, double *seconds); /* [[D-]HH:]MM:SS[.mmm] */
