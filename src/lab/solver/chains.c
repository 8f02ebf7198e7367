/* chains.c - moves over several devices in a row: exact.c runs them on small
 * placements */
#include "lab/solver/chains.h"

#include "lab/solver/chains_private.h"
#include "lab/solver/paths.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define A_STEP 8 /* records passed over that take as long as a step */

static void list_one(struct chains_lists *lists, const struct search *s, int i,
                     double slack)
{
    const struct work *w = s->w;
    struct chains_place *best = &lists->places[(size_t)i * CHAINS_LIST];
    double limit = slack;
    int count = 0;

    for (int t = -1; t < w->types; t++)
        for (int j = -1; j < (t < 0 ? 0 : w->tasks); j++) {
            double cost =
                t < 0   ? (double)w->penalty[i]
                : j < 0 ? (double)work_alone(w, t, i, NULL) + w->price[t]
                        : (double)work_pair(w, t, i, j, NULL) + w->price[t] - s->worth[j];
            int at;

            cost -= s->worth[i];
            if (cost > limit)
                continue;
            at = count < CHAINS_LIST ? count++ : CHAINS_LIST - 1;
            for (; at > 0 && (double)best[at - 1].reduced > cost; at--)
                best[at] = best[at - 1];
            best[at] = (struct chains_place){(float)cost, (short)t, (short)j};
            if (count == CHAINS_LIST)
                limit = (double)best[CHAINS_LIST - 1].reduced;
        }
    lists->count[i] = count;
}

void chains_list(struct chains_lists *lists, const struct search *s, double slack)
{
    int tasks = s->w->tasks;

    lists->places =
        arena_array(s->w->arena, struct chains_place, (size_t)tasks * CHAINS_LIST + 1);
    lists->count = arena_array(s->w->arena, int, tasks + 1);
    for (int i = 0; i < tasks; i++)
        list_one(lists, s, i, slack);
}

bool chain_break(struct chain *c, int record, int seated)
{
    const struct search_record *r = &c->s->records[record];

    if (c->broken_count == c->broken_most || ++c->steps > c->end)
        return false;
    c->broken[c->broken_count++] = record;
    c->gain += c->sits[r->task[0]].excess;
    if (r->type >= 0)
        c->use[r->type]--;
    for (int e = 0; e < 2; e++)
        if (r->task[e] >= 0) {
            c->taken[r->task[e]] = true;
            if (r->task[e] != seated)
                c->loose[c->loose_count++] = r->task[e];
        }
    return true;
}

void chain_mend(struct chain *c, int seated)
{
    int record = c->broken[--c->broken_count];
    const struct search_record *r = &c->s->records[record];

    c->gain -= c->sits[r->task[0]].excess;
    if (r->type >= 0)
        c->use[r->type]++;
    for (int e = 0; e < 2; e++)
        if (r->task[e] >= 0) {
            c->taken[r->task[e]] = false;
            if (r->task[e] != seated)
                c->loose_count--;
        }
}

static double real_saving(const struct chain *c)
{
    const struct search *s = c->s;
    double saving = 0;

    for (int b = 0; b < c->broken_count; b++)
        saving += s->records[c->broken[b]].cost;
    for (int x = 0; x < c->placed_count; x++) {
        int t = c->placed[x].type, i = c->placed[x].i, j = c->placed[x].j;

        saving -= t < 0   ? (double)s->w->penalty[i]
                  : j < 0 ? (double)work_alone(s->w, t, i, NULL)
                          : (double)work_pair(s->w, t, i, j, NULL);
    }
    for (int t = 0; t < s->w->types && s->stairs; t++)
        saving += s->stairs->extra[t][s->used[t]] - s->stairs->extra[t][c->use[t]];
    return saving;
}

static void apply(struct chain *c)
{
    struct search *s = c->s;

    for (int b = 0; b < c->broken_count; b++)
        search_drop(s, c->broken[b]);
    for (int x = 0; x < c->placed_count; x++)
        if (c->placed[x].type < 0)
            search_park(s, c->placed[x].i);
        else
            search_put(s, c->placed[x].type, c->placed[x].i, c->placed[x].j);
}

/* Nobody is loose: done, or a type has more in use than there are. */
static bool close_up(struct chain *c)
{
    struct search *s = c->s;
    int over = -1;

    for (int t = 0; t < s->w->types && over < 0; t++)
        if (c->use[t] > s->w->devices[t])
            over = t;
    if (over < 0) {
        if (real_saving(c) < CHAIN_MIN_SAVING)
            return false;
        apply(c);
        return true;
    }
    c->steps += s->count / A_STEP;
    for (int r = 0; r < s->count && c->steps < c->end; r++) {
        const struct search_record *rec = &s->records[r];

        if (rec->type != over || c->taken[rec->task[0]] ||
            (rec->task[1] >= 0 && c->taken[rec->task[1]]) || !chain_break(c, r, -1))
            continue;
        if (chain_go_on(c))
            return true;
        chain_mend(c, -1);
    }
    return false;
}

static int find_loose(const struct chain *c, int task)
{
    for (int x = 0; x < c->loose_count; x++)
        if (c->loose[x] == task)
            return x;
    return -1;
}

void chain_place(struct chain *c, int x, const struct chains_place *place)
{
    c->gain -= (double)place->reduced;
    if (place->type >= 0)
        c->use[place->type]++;
    c->placed[c->placed_count].type = place->type;
    c->placed[c->placed_count].i = x;
    c->placed[c->placed_count++].j = place->mate;
}

void chain_take_back(struct chain *c, const struct chains_place *place)
{
    c->placed_count--;
    if (place->type >= 0)
        c->use[place->type]--;
    c->gain += (double)place->reduced;
}

/* Is what there is to gain used up before the task has a seat?  Its list is sorted. */
static bool too_dear(const struct chain *c, int task, double gain)
{
    return c->lists->count[task] == 0 ||
           (double)c->lists->places[(size_t)task * CHAINS_LIST].reduced >=
               gain + c->bonus - CHAIN_MIN_SAVING;
}

/* Does seating x there, with whoever has to get up then, leave anything to go on with?
 * Most seats do not, and are not tried. */
static bool leads_on(const struct chain *c, const struct chains_place *place)
{
    double gain = c->gain - (double)place->reduced;
    int next = -1;

    if (place->mate >= 0 && !c->taken[place->mate]) {
        gain += c->sits[place->mate].excess;
        next = c->sits[place->mate].other;
    }
    if (next < 0 && c->loose_count > 0) {
        next = c->loose[c->loose_count - 1];
        if (next == place->mate) /* seated as well */
            next = c->loose_count > 1 ? c->loose[c->loose_count - 2] : -1;
    }
    return next < 0 || !too_dear(c, next, gain);
}

/* Seat the loose task x (taken off the list already) at this place, and go on. */
static bool seat(struct chain *c, int x, const struct chains_place *place)
{
    int mate = place->mate, at = -1;
    bool breaks = mate >= 0 && !c->taken[mate];

    if (mate >= 0 && !breaks && (at = find_loose(c, mate)) < 0)
        return false;
    if (!leads_on(c, place)) {
        c->steps += breaks && c->broken_count < c->broken_most;
        return false;
    }
    if (breaks && !chain_break(c, c->sits[mate].record, mate))
        return false;
    if (at >= 0)
        c->loose[at] = c->loose[--c->loose_count];
    chain_place(c, x, place);
    if (chain_go_on(c))
        return true;
    chain_take_back(c, place);
    if (at >= 0) {
        c->loose[c->loose_count++] = c->loose[at];
        c->loose[at] = mate;
    }
    if (breaks)
        chain_mend(c, mate);
    return false;
}

bool chain_go_on(struct chain *c)
{
    const struct chains_place *places;
    int x, count;

    if (c->loose_count == 0)
        return close_up(c);
    x = c->loose[--c->loose_count];
    places = &c->lists->places[(size_t)x * CHAINS_LIST];
    count = c->lists->count[x];
    for (int q = 0; q < count && c->steps < c->end; q++) {
        if ((double)places[q].reduced >= c->gain + c->bonus - CHAIN_MIN_SAVING)
            break;
        c->steps++;
        if (seat(c, x, &places[q]))
            return true;
    }
    c->loose[c->loose_count++] = x;
    return false;
}

static bool start(struct chain *c, int record)
{
    if (!chain_break(c, record, -1))
        return false;
    if (c->gain + c->bonus > CHAIN_MIN_SAVING && chain_go_on(c))
        return true;
    chain_mend(c, -1);
    return false;
}

/* Devices that are free although they have a price, and the next step of the stairs. */
static double find_bonus(const struct search *s)
{
    double bonus = 0, stairs = 0;

    for (int t = 0; t < s->w->types; t++) {
        int used = s->used[t];

        bonus += s->w->price[t] * (used < s->w->devices[t]);
        for (int by = -2; by <= 2 && s->stairs; by++)
            if (used + by >= 0 && used + by <= s->w->devices[t])
                stairs = fmax(stairs,
                              s->stairs->extra[t][used] - s->stairs->extra[t][used + by]);
    }
    return bonus + stairs;
}

void chain_begin(struct chain *c)
{
    long end = c->steps + c->effort->a_start;

    c->broken_count = c->placed_count = c->loose_count = 0;
    c->broken_most = c->effort->broken;
    c->gain = 0;
    c->bonus = find_bonus(c->s) + c->effort->allow;
    c->end = end < c->effort->steps ? end : c->effort->steps;
    memcpy(c->use, c->s->used, sizeof(c->use));
}

static void note_seats(struct chain *c)
{
    const struct search *s = c->s;

    for (int r = 0; r < s->count; r++) {
        const struct search_record *rec = &s->records[r];
        double excess = search_excess(s, r);

        for (int e = 0; e < 2; e++)
            if (rec->type != SEARCH_FREE && rec->task[e] >= 0)
                c->sits[rec->task[e]] = (struct chain_sits){excess, r, rec->task[!e]};
    }
}

/* One start; true when a move was made. */
static bool try_record(struct chain *c, int record)
{
    bool moved;

    chain_begin(c);
    moved = c->effort->paths ? paths_from(c, record) : start(c, record);
    if (moved) {
        memset(c->taken, 0, (size_t)c->s->w->tasks * sizeof(bool));
        note_seats(c);
    }
    return moved;
}

long chains_from(struct search *s, const struct chains_lists *lists, const int *tasks,
                 int count, const struct chains_effort *effort)
{
    size_t mark = arena_mark(s->w->arena);
    struct chain c = {.s = s, .lists = lists, .effort = effort};

    assert(effort->broken <= CHAIN_MOST);
    c.taken = arena_array(s->w->arena, bool, s->w->tasks + 1);
    memset(c.taken, 0, (size_t)s->w->tasks * sizeof(bool));
    c.sits = arena_array(s->w->arena, struct chain_sits, s->w->tasks + 1);
    note_seats(&c);
    for (int x = 0; x < count && c.steps < effort->steps; x++) {
        int r = s->place[tasks[x]];

        if (r >= 0 && s->records[r].type != SEARCH_FREE && try_record(&c, r))
            x = -1; /* from the beginning: what failed may go now */
    }
    arena_release(s->w->arena, mark);
    return c.steps;
}

long chains_run(struct search *s, const struct chains_lists *lists,
                const struct chains_effort *effort)
{
    size_t mark = arena_mark(s->w->arena);
    int *tasks = arena_array(s->w->arena, int, s->w->tasks + 1);
    long steps;

    for (int i = 0; i < s->w->tasks; i++)
        tasks[i] = i;
    steps = chains_from(s, lists, tasks, s->w->tasks, effort);
    arena_release(s->w->arena, mark);
    return steps;
}
