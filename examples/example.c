/* example.c - see example.h */
#include "example.h"

#include "base/file.h"
#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_stop(int signal)
{
    stop = signal;
}

double example_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t read_place(const char *path)
{
    unsigned long long step = 0;
    char *text;
    size_t size;

    if (!path || file_read(path, 4096, &text, &size, NULL) < 0)
        return 0;
    if (sscanf(text, "step %llu", &step) != 1)
        step = 0;
    free(text);
    return step;
}

void example_begin(struct example *example, const char *name,
                   const struct example_args *args)
{
    struct sigaction action = {.sa_handler = on_stop};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    *example = (struct example){.name = name, .args = args};
    example->first = example->step = read_place(args->checkpoint);
    example->started_s = example_now_s();
}

bool example_more(struct example *example)
{
    const struct example_args *args = example->args;

    if (stop) {
        example->stopped = true;
        return false;
    }
    if (args->steps > 0 && example->step >= args->steps)
        return false;
    return !(args->seconds > 0 && example_now_s() - example->started_s >= args->seconds);
}

double example_rate(const struct example *example)
{
    double seconds = example_now_s() - example->started_s;

    return seconds > 0 ? (double)(example->step - example->first) / seconds : 0;
}

bool example_every(double *last_s, double seconds)
{
    double now_s = example_now_s();

    if (now_s - *last_s < seconds)
        return false;
    *last_s = now_s;
    return true;
}

static void write_count(const struct example *example)
{
    double seconds = example->ended_s - example->started_s;
    uint64_t done = example->step - example->first;
    FILE *f = fopen(example->args->count, "ae");

    if (!f) {
        fprintf(stderr, "%s: cannot write %s: %m\n", example->name, example->args->count);
        return;
    }
    fprintf(f, "name=%s steps=%llu seconds=%.3f rate=%.6g stopped=%d\n", example->name,
            (unsigned long long)done, seconds, seconds > 0 ? (double)done / seconds : 0.0,
            example->stopped);
    fclose(f);
}

int example_end(struct example *example)
{
    struct str text = {0};
    struct err err = {0};

    example->ended_s = example_now_s();
    if (example->args->count)
        write_count(example);
    if (example->args->checkpoint && example->stopped) {
        str_addf(&text, "step %llu\n", (unsigned long long)example->step);
        if (file_write(example->args->checkpoint, text.text, text.length, &err) < 0)
            fprintf(stderr, "%s: %s\n", example->name, err.text);
        str_fini(&text);
    } else if (example->args->checkpoint) {
        unlink(example->args->checkpoint); /* complete: the next run is a new one */
    }
    return example->stopped ? 128 + SIGTERM : 0;
}
