/* problem.c - memory of problems and solutions; instance.c fills a problem, solve.c a
 * solution */
#include "lab/solver/problem.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Make room for wanted items; contents are not kept. */
#define FIT(array, room, wanted)                                                         \
    do {                                                                                 \
        size_t wanted_ = (size_t)(wanted);                                               \
        if (wanted_ > (size_t)(room) || !(array)) {                                      \
            free(array);                                                                 \
            (array) = mem_zeroed(wanted_, sizeof(*(array)));                             \
        } else {                                                                         \
            memset((array), 0, wanted_ * sizeof(*(array)));                              \
        }                                                                                \
    } while (0)

struct problem *problem_create(const struct problem_size *size)
{
    struct problem *p = mem_new(struct problem);

    p->room = mem_new(struct problem_size);
    problem_reset(p, size);
    return p;
}

void problem_destroy(struct problem *p)
{
    if (!p)
        return;
    free(p->types);
    free(p->variants);
    free(p->classes);
    free(p->alone_rate);
    free(p->alone_watts);
    free(p->pair_rate);
    free(p->pair_watts);
    free(p->jobs);
    free(p->speed);
    free(p->drag);
    free(p->now);
    free(p->nodes);
    free(p->devices);
    free(p->room);
    free(p);
}

static size_t product(int a, int b, int c)
{
    return (size_t)a * (size_t)b * (size_t)c;
}

static void fit_tables(struct problem *p, const struct problem_size *size)
{
    const struct problem_size *room = p->room;
    size_t alone = product(room->variants, room->classes, 1);
    size_t pair = product(room->variants, room->classes, room->classes);

    FIT(p->types, room->types, size->types);
    FIT(p->variants, room->variants, size->variants);
    FIT(p->classes, room->classes, size->classes);
    FIT(p->alone_rate, alone, product(size->variants, size->classes, 1));
    FIT(p->alone_watts, alone, product(size->variants, size->classes, 1));
    FIT(p->pair_rate, pair, product(size->variants, size->classes, size->classes));
    FIT(p->pair_watts, pair, product(size->variants, size->classes, size->classes));
}

static void grow_room(struct problem_size *room, const struct problem_size *size)
{
    const int *wanted = (const int *)size;
    int *have = (int *)room;

    for (size_t i = 0; i < sizeof(*size) / sizeof(int); i++)
        if (wanted[i] > have[i])
            have[i] = wanted[i];
}

void problem_reset(struct problem *p, const struct problem_size *size)
{
    struct problem_size *room = p->room;
    struct problem_size all = *size;

    /* Tables grow together: one that grew alone would leave room's product too large. */
    grow_room(&all, room);
    if (memcmp(&all, room, sizeof(all)) == 0)
        all = *size;
    fit_tables(p, &all);
    FIT(p->jobs, room->jobs, all.jobs);
    FIT(p->speed, product(room->jobs, room->types, 1), product(all.jobs, all.types, 1));
    FIT(p->drag, room->jobs, all.jobs);
    FIT(p->now, room->tasks, all.tasks);
    FIT(p->nodes, room->nodes, all.nodes);
    FIT(p->devices, room->devices, all.devices);
    grow_room(room, size);
    p->type_count = size->types;
    p->variant_count = size->variants;
    p->class_count = size->classes;
    p->job_count = size->jobs;
    p->task_count = size->tasks;
    p->node_count = size->nodes;
    p->device_count = size->devices;
    p->move_watts = 0;
    p->sleep = false;
    for (size_t i = 0; i < product(all.jobs, all.types, 1); i++)
        p->speed[i] = 1;
    for (int i = 0; i < all.jobs; i++)
        p->drag[i] = 1;
    for (int i = 0; i < all.tasks; i++)
        p->now[i] = -1;
}

void problem_number_tasks(struct problem *p)
{
    int next = 0;

    for (int j = 0; j < p->job_count; j++) {
        p->jobs[j].first_task = next;
        next += p->classes[p->jobs[j].class_id].devices;
    }
    p->task_count = next;
}

bool problem_rates(const struct problem *p, int variant, const int *jobs, int count,
                   float *rate, float *watts)
{
    int classes[PROBLEM_MAX_SHARE] = {0};
    size_t at;

    for (int e = 0; e < count; e++)
        classes[e] = p->jobs[jobs[e]].class_id;
    at = count == 1 ? (size_t)variant * (size_t)p->class_count + (size_t)classes[0]
                    : problem_cell(p, variant, classes[0], classes[1]);
    rate[0] = count == 1 ? p->alone_rate[at] : p->pair_rate[at];
    *watts = count == 1 ? p->alone_watts[at] : p->pair_watts[at];
    if (count == 2)
        rate[1] = p->pair_rate[problem_cell(p, variant, classes[1], classes[0])];
    return rate[0] > 0 && (count == 1 || rate[1] > 0);
}

void solution_fit(struct solution *s, const struct problem *p)
{
    FIT(s->devices, s->device_room, p->task_count);
    FIT(s->state, s->job_room, p->job_count);
    FIT(s->awake, s->node_room, p->node_count);
    if (p->task_count > s->device_room)
        s->device_room = p->task_count;
    if (p->job_count > s->job_room)
        s->job_room = p->job_count;
    if (p->node_count > s->node_room)
        s->node_room = p->node_count;
    s->device_count = 0;
    s->job_count = p->job_count;
    s->node_count = p->node_count;
    s->cost = s->watts = s->progress = 0;
    s->bound = -INFINITY;
    s->gap = INFINITY;
    s->unserved = s->moves = 0;
}

void solution_copy(struct solution *to, const struct solution *from,
                   const struct problem *p)
{
    struct solution kept;

    solution_fit(to, p);
    kept = *to;
    *to = *from;
    to->devices = kept.devices;
    to->state = kept.state;
    to->awake = kept.awake;
    to->device_room = kept.device_room;
    to->job_room = kept.job_room;
    to->node_room = kept.node_room;
    memcpy(to->devices, from->devices,
           (size_t)from->device_count * sizeof(*from->devices));
    memcpy(to->state, from->state, (size_t)from->job_count * sizeof(*from->state));
    memcpy(to->awake, from->awake, (size_t)from->node_count * sizeof(*from->awake));
}

void solution_fini(struct solution *s)
{
    free(s->devices);
    free(s->state);
    free(s->awake);
    *s = (struct solution){0};
}

double solution_gap(const struct solution *s)
{
    double scale = s->cost + s->progress;

    return scale > 0 ? (s->cost - s->bound) / scale : 0;
}
