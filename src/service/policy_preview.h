/* policy_preview.h - what would come of other settings: the present played on twice
 *
 * The loop and the simulated engine play the jobs there are from the present on, once
 * with the settings in force and once with those proposed.  The world they are played in
 * is what is believed: rates and watts as the model predicts them, so the answer holds
 * for any engine, and is as good as the estimates are.  Nobody comes, nothing fails, and
 * services are asked for what they are asked for now.
 *
 *     p = policy_preview_create(loop, &options, &learned, &proposed, hours, now_s, &err);
 *     policy_preview_run(p);            on any thread: it has copies of all it reads
 *     ... p->runs[PREVIEW_PRESENT], p->runs[PREVIEW_PROPOSED] ...
 *     policy_preview_destroy(p); */
#pragma once

#include "loop/loop.h"

enum preview_which { PREVIEW_PRESENT, PREVIEW_PROPOSED, PREVIEW_RUNS };

struct preview_run {
    struct optimize_settings settings;
    double joules; /* devices, hosts and what sleeps */
    double peak_watts;
    int done;    /* jobs that ended by themselves */
    int waiting; /* at the end, held ones too */
    int started, moves;
    double waited_s;   /* by all that waited and were not held */
    double promised_s; /* of jobs that run and need a rate, */
    double kept_s;     /* and have it */
};

struct policy_preview {
    struct preview_run runs[PREVIEW_RUNS];
    double from_s, until_s; /* played; until_s may come earlier than asked for */
    int jobs;               /* played */
    int left_out;           /* of so many kinds that they are not played */
    struct err err;         /* what went wrong, when something did */
    struct preview_inside *inside;
};

/* Copies what is there now; the loop stays as it is.  The caller destroys it. */
struct policy_preview *policy_preview_create(const struct loop *loop,
                                             const struct loop_options *options,
                                             const struct learned_options *learned,
                                             const struct optimize_settings *proposed,
                                             double hours, double now_s, struct err *err);
void policy_preview_run(struct policy_preview *preview);
void policy_preview_destroy(struct policy_preview *preview); /* NULL is fine */
