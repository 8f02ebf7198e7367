/* submit_settings.h - what the operator lets Corgi do with jobs that are handed in to
 * Slurm
 *
 * Lines of KEY=VALUE in /etc/corgi/slurm-plugin.conf, as in slurm.conf:
 *
 *     Partitions=gpu,ml   # whose jobs are Corgi's
 *     Default=yes         # jobs that name no partition go to one of these
 *     Hold=yes            # hold them until Corgi places them; no: only note it
 *     Sharing=yes         # Corgi says as they start whether they get GPUs or shards
 *     Probe=/usr/bin/corgi-probe   # all nodes have it: batch scripts run under it
 *     Report=https://corgi:8421    # where these probes find the daemon
 *     ReportCA=/etc/corgi/ca.pem   # and whom they trust; left out the system's
 *
 * Nothing is read twice: plugin.c looks whether the file has changed. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SUBMIT_SETTINGS_BYTES 65536 /* the longest file */
#define SUBMIT_MAX_PARTITIONS 4096  /* bytes of their names */
#define SUBMIT_MAX_PROBE      160   /* bytes: a script's first line has 255 in all */
#define SUBMIT_MAX_REPORT     256   /* bytes of an address, and of a path */

struct submit_settings {
    char partitions[SUBMIT_MAX_PARTITIONS]; /* with commas between */
    char probe[SUBMIT_MAX_PROBE];           /* "": scripts stay as they are */
    char report[SUBMIT_MAX_REPORT];         /* "": nobody reports */
    char report_ca[SUBMIT_MAX_REPORT];      /* "": the system's */
    bool takes_default, hold, sharing;
};

/* Of a file with this name; ERR_FORMAT with name and line.  An empty one manages nothing.
 */
int submit_settings_parse(struct submit_settings *settings, const char *text,
                          size_t length, const char *name, struct err *err);
