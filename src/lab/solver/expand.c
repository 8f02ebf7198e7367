/* expand.c - from counts of classes to tasks on devices: solve.c tries it as another
 * start for the search */
#include "lab/solver/expand.h"

#include <stdlib.h>

struct expand_slot {
    float rate;
    int device, side;
};

struct plan_expansion {
    const struct prices_plan *plan;
    struct search *s;
    int device_count;
    int *type;                 /* (devices) */
    int (*task)[2];            /* (devices) -1: nobody yet */
    struct expand_slot *slots; /* (two a device) by group */
    int *at;                   /* (groups + 1) where each group's slots start */
};

/* Devices of the plan, and every group's slots on them. */
static void lay_out(struct plan_expansion *x)
{
    const struct prices_plan *plan = x->plan;
    int *next = arena_array(x->s->w->arena, int, plan->group_count + 1);

    for (int g = 0; g <= plan->group_count; g++)
        x->at[g] = 0;
    for (int p = 0; p < plan->place_count; p++)
        for (int e = 0; e < 2; e++)
            if (plan->places[p].group[e] >= 0)
                x->at[plan->places[p].group[e] + 1] += plan->places[p].count;
    for (int g = 0; g < plan->group_count; g++) {
        x->at[g + 1] += x->at[g];
        next[g] = x->at[g];
    }
    for (int p = 0; p < plan->place_count; p++) {
        const struct prices_place *place = &plan->places[p];

        for (int c = 0; c < place->count; c++, x->device_count++) {
            x->type[x->device_count] = place->type;
            for (int e = 0; e < 2; e++) {
                x->task[x->device_count][e] = -1;
                if (place->group[e] >= 0)
                    x->slots[next[place->group[e]]++] =
                        (struct expand_slot){place->rate[e], x->device_count, e};
            }
        }
    }
}

static int best_first(const void *a, const void *b)
{
    const struct expand_slot *x = a, *y = b;

    if (x->rate != y->rate)
        return x->rate > y->rate ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->side - y->side;
}

/* Best slots to the most demanding; a task that the best one left does not serve, none
 * will. */
static void hand_out(struct plan_expansion *x, int group)
{
    struct expand_slot *slot = x->slots + x->at[group];
    int slots = x->at[group + 1] - x->at[group], used = 0;

    qsort(slot, (size_t)slots, sizeof(*slot), best_first);
    for (int q = x->plan->first[group]; q < x->plan->first[group + 1] && used < slots;
         q++) {
        int i = x->plan->order[q];

        if (slot[used].rate >= x->s->w->need[i]) {
            x->task[slot[used].device][slot[used].side] = i;
            used++;
        }
    }
}

static void put_device(struct search *s, int type, int i, int j)
{
    if (i < 0) {
        i = j;
        j = -1;
    }
    if (i < 0 || !search_room(s, type))
        return;
    if (j >= 0 && work_pair(s->w, type, i, j, NULL) < WORK_NEVER)
        search_put(s, type, i, j);
    else if (work_alone(s->w, type, i, NULL) < WORK_NEVER)
        search_put(s, type, i, -1);
}

void expand_run(const struct prices_plan *plan, struct search *s)
{
    struct arena *arena = s->w->arena;
    size_t mark = arena_mark(arena);
    struct plan_expansion x = {.plan = plan, .s = s};
    size_t devices = 0;

    for (int p = 0; p < plan->place_count; p++)
        devices += (size_t)plan->places[p].count;
    x.type = arena_array(arena, int, devices);
    x.task = arena_take(arena, devices, sizeof(*x.task));
    x.slots = arena_array(arena, struct expand_slot, 2 * devices);
    x.at = arena_array(arena, int, plan->group_count + 1);
    lay_out(&x);
    for (int g = 0; g < plan->group_count; g++)
        hand_out(&x, g);
    for (int d = 0; d < x.device_count; d++)
        put_device(s, x.type[d], x.task[d][0], x.task[d][1]);
    for (int i = 0; i < s->w->tasks; i++)
        if (s->place[i] < 0)
            search_park(s, i);
    arena_release(arena, mark);
}
