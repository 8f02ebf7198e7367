/* example.h - what the example jobs have in common
 *
 * Each is a real program that takes --steps, --seconds, --size and --seed, keeps its
 * place in a --checkpoint file when it is told to stop and goes on from there, and writes
 * to --count what it has really done, to compare with what was measured from outside. */
#pragma once

#include "base/command.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct example_args {
    uint64_t steps;
    double seconds;
    int size;
    uint64_t seed;
    const char *checkpoint;
    const char *count;
    const char *progress; /* of the jobs that keep a progress file */
};

/* The rows of the option table; size_text is the default of --size. */
#define EXAMPLE_OPTIONS(size_text, size_help)                                            \
    {.name = "steps",                                                                    \
     .type = OPTION_U64,                                                                 \
     .argument = "N",                                                                    \
     .offset = offsetof(struct example_args, steps),                                     \
     .help = "end after so many steps, those before a restart included; 0: never"},      \
        {.name = "seconds",                                                              \
         .type = OPTION_SECONDS,                                                         \
         .argument = "S",                                                                \
         .offset = offsetof(struct example_args, seconds),                               \
         .help = "end after so long; 0: never"},                                         \
        {.name = "size",                                                                 \
         .type = OPTION_INT,                                                             \
         .argument = "N",                                                                \
         .min = 1,                                                                       \
         .max = 1e6,                                                                     \
         .default_text = size_text,                                                      \
         .offset = offsetof(struct example_args, size),                                  \
         .help = size_help},                                                             \
        {.name = "seed",                                                                 \
         .type = OPTION_U64,                                                             \
         .argument = "N",                                                                \
         .default_text = "1",                                                            \
         .offset = offsetof(struct example_args, seed),                                  \
         .help = "seed of all draws"},                                                   \
        {.name = "checkpoint",                                                           \
         .type = OPTION_STRING,                                                          \
         .argument = "FILE",                                                             \
         .offset = offsetof(struct example_args, checkpoint),                            \
         .help = "keep the place there at SIGTERM, go on from there"},                   \
    {                                                                                    \
        .name = "count", .type = OPTION_STRING, .argument = "FILE",                      \
        .offset = offsetof(struct example_args, count),                                  \
        .help = "append what was really done, as key=value"                              \
    }

struct example {
    const char *name;
    const struct example_args *args;
    uint64_t first; /* where this run began */
    uint64_t step;  /* where it is */
    double started_s;
    double ended_s;
    bool stopped; /* by a signal */
};

/* Read the checkpoint if there is one; on SIGTERM and SIGINT the job stops between steps.
 */
void example_begin(struct example *example, const char *name,
                   const struct example_args *args);

/* Is there another step to do?  Count the one before with example->step++. */
bool example_more(struct example *example);

double example_rate(const struct example *example); /* steps per second of this run */
bool example_every(double *last_s, double seconds); /* true once in that time */

/* Write checkpoint and count; the exit status: 0 when it is complete, 143 when it was
 * told to stop. */
int example_end(struct example *example);

double example_now_s(void);
