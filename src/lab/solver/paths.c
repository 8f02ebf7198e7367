/* paths.c - tasks passed on from device to device: chains.c calls it where a chain is
 * stuck */
#include "lab/solver/paths.h"

#include <math.h>
#include <string.h>

#define LENGTH 16 /* records on a path */
#define ENDS   6  /* tried, best first */
#define A_TRY  2000

struct label {
    double gain; /* of making this task the loose one */
    int from;    /* the task that was loose before; -1: the first */
    int place;   /* where it went, in its list */
    bool queued;
};

struct end {
    double gain;
    int from, place;
};

struct paths {
    struct chain *c;
    struct label *labels; /* (tasks) */
    int *queue;           /* (tasks) in a ring */
    int head, count;
    int waiting; /* the other loose task of the first record; -1: none */
    struct end ends[ENDS];
    int end_count;
};

static const struct chains_place *place_of(const struct paths *p, int task, int place)
{
    return &p->c->lists->places[(size_t)task * CHAINS_LIST + (size_t)place];
}

static void push(struct paths *p, int task)
{
    if (p->labels[task].queued)
        return;
    p->labels[task].queued = true;
    p->queue[(p->head + p->count++) % p->c->s->w->tasks] = task;
}

static int pop(struct paths *p)
{
    int task = p->queue[p->head];

    p->head = (p->head + 1) % p->c->s->w->tasks;
    p->count--;
    p->labels[task].queued = false;
    return task;
}

/* Is the record on the way to this task, or the way too long to go on? */
static bool on_the_way(const struct paths *p, int task, int record)
{
    int length = 0;

    while (p->labels[task].from >= 0) {
        int before = p->labels[task].from;
        int mate = place_of(p, before, p->labels[task].place)->mate;

        if (p->c->sits[mate].record == record || ++length >= LENGTH)
            return true;
        task = before;
    }
    return p->c->sits[task].record == record;
}

static void note_end(struct paths *p, double gain, int from, int place)
{
    int at;

    if (p->end_count == ENDS && p->ends[ENDS - 1].gain >= gain)
        return;
    at = p->end_count < ENDS ? p->end_count++ : ENDS - 1;
    for (; at > 0 && p->ends[at - 1].gain < gain; at--)
        p->ends[at] = p->ends[at - 1];
    p->ends[at] = (struct end){gain, from, place};
}

/* Seat the loose task x at its place q: an end, or somebody else is loose. */
static void relax(struct paths *p, int x, int q, double gain)
{
    const struct chain_sits *sits;
    int mate = place_of(p, x, q)->mate;

    if (mate < 0 || mate == p->waiting) {
        note_end(p, gain, x, q);
        return;
    }
    if (p->c->taken[mate])
        return;
    sits = &p->c->sits[mate];
    gain += sits->excess;
    if (sits->other >= 0 && gain <= p->labels[sits->other].gain + 1e-6)
        return;
    if (on_the_way(p, x, sits->record))
        return;
    if (sits->other < 0) {
        note_end(p, gain, x, q);
        return;
    }
    p->labels[sits->other].gain = gain;
    p->labels[sits->other].from = x;
    p->labels[sits->other].place = q;
    push(p, sits->other);
}

static void walk(struct paths *p, int first)
{
    struct chain *c = p->c;

    for (int i = 0; i < c->s->w->tasks; i++)
        p->labels[i] = (struct label){.gain = -INFINITY, .from = -1};
    p->head = p->count = p->end_count = 0;
    p->labels[first].gain = c->gain;
    push(p, first);
    while (p->count > 0 && c->steps < c->end) {
        int x = pop(p);

        for (int q = 0; q < c->lists->count[x]; q++) {
            double gain = p->labels[x].gain - (double)place_of(p, x, q)->reduced;

            if (gain + c->bonus < CHAIN_MIN_SAVING)
                break;
            c->steps++;
            relax(p, x, q, gain);
        }
    }
}

/* Seats of the way to an end, first to last; 0 when it runs into itself. */
static int trace(const struct paths *p, const struct end *end, int *task, int *place)
{
    int count = 0, x = end->from;

    task[LENGTH] = x;
    place[LENGTH] = end->place;
    while (p->labels[x].from >= 0) {
        if (++count > LENGTH)
            return 0;
        task[LENGTH - count] = p->labels[x].from;
        place[LENGTH - count] = p->labels[x].place;
        x = p->labels[x].from;
    }
    memmove(task, task + LENGTH - count, (size_t)(count + 1) * sizeof(int));
    memmove(place, place + LENGTH - count, (size_t)(count + 1) * sizeof(int));
    return count + 1;
}

static bool is_loose(const struct chain *c, int task)
{
    for (int x = 0; x < c->loose_count; x++)
        if (c->loose[x] == task)
            return true;
    return false;
}

static void take_off(struct chain *c, int task)
{
    for (int x = 0; x < c->loose_count; x++)
        if (c->loose[x] == task) {
            memmove(&c->loose[x], &c->loose[x + 1],
                    (size_t)(c->loose_count - x - 1) * sizeof(int));
            c->loose_count--;
            return;
        }
}

/* Make the seats of the way from q on, then what is left over; undone on failure. */
static bool follow(struct paths *p, const int *task, const int *place, int q, int count)
{
    struct chain *c = p->c;
    const struct chains_place *seat;
    int kept[2 * CHAIN_MOST], kept_count = c->loose_count;
    bool breaks;

    if (q == count) {
        c->end =
            c->steps + A_TRY < c->effort->steps ? c->steps + A_TRY : c->effort->steps;
        c->broken_most =
            c->broken_count + 4 < CHAIN_MOST ? c->broken_count + 4 : CHAIN_MOST;
        return chain_go_on(c);
    }
    if (!is_loose(c, task[q])) /* labels changed since: the way is none any more */
        return false;
    seat = place_of(p, task[q], place[q]);
    breaks = seat->mate >= 0 && seat->mate != p->waiting;
    memcpy(kept, c->loose, sizeof(kept));
    if (breaks &&
        (c->taken[seat->mate] || !chain_break(c, c->s->place[seat->mate], seat->mate)))
        return false;
    take_off(c, task[q]);
    if (!breaks && seat->mate >= 0)
        take_off(c, seat->mate);
    chain_place(c, task[q], seat);
    if (follow(p, task, place, q + 1, count))
        return true;
    chain_take_back(c, seat);
    if (breaks)
        chain_mend(c, seat->mate);
    memcpy(c->loose, kept, sizeof(kept));
    c->loose_count = kept_count;
    return false;
}

static bool try_ends(struct paths *p)
{
    struct chain *c = p->c;

    for (int e = 0; e < p->end_count; e++) {
        int task[LENGTH + 1], place[LENGTH + 1];
        int count = trace(p, &p->ends[e], task, place);

        if (c->steps >= c->effort->steps)
            return false;
        c->broken_most = CHAIN_MOST;
        c->end = c->effort->steps;
        if (count && follow(p, task, place, 0, count))
            return true;
    }
    return false;
}

bool paths_from(struct chain *c, int record)
{
    struct arena *arena = c->s->w->arena;
    size_t mark = arena_mark(arena);
    struct search_record rec = c->s->records[record];
    struct paths p = {.c = c};
    bool moved = false;

    if (!chain_break(c, record, -1))
        return false;
    p.labels = arena_array(arena, struct label, c->s->w->tasks + 1);
    p.queue = arena_array(arena, int, c->s->w->tasks + 1);
    for (int e = 0; e < 2 && !moved && rec.task[e] >= 0; e++) {
        long end = c->steps + c->effort->a_start;

        c->end = end < c->effort->steps ? end : c->effort->steps;
        p.waiting = rec.task[!e];
        walk(&p, rec.task[e]);
        moved = try_ends(&p);
    }
    if (!moved)
        chain_mend(c, -1);
    arena_release(arena, mark);
    return moved;
}
