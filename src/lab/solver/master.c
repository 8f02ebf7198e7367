/* master.c - the LP over places of single tasks: exact.c solves it, reference_exact.c
 * takes its duals */
#include "lab/solver/master.h"

#include "lab/solver/oddsets.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define FIRST_A_TASK 6  /* columns of least reduced cost to begin with */
#define NEW_A_TASK   6  /* priced in at a time */
#define ROOM_A_TASK  64 /* columns there can be */
#define SAVES        1e-4
#define ROUNDS       60
#define WORTH_A_CUT  3e-5 /* of the bound; less is no progress */
#define MAX_IDLE     1    /* rounds of cuts without progress */

static size_t cell(const struct master *m, int type, int i, int j)
{
    size_t n = (size_t)m->w->tasks;

    return ((size_t)type * n + (size_t)i) * n + (size_t)(j < 0 ? i : j);
}

static float cost_of(const struct master *m, int type, int i, int j)
{
    return j < 0 ? work_alone(m->w, type, i, NULL) : work_pair(m->w, type, i, j, NULL);
}

static void add_column(struct master *m, int type, int i, int j)
{
    int rows[3 + MASTER_CUTS], count = 0;
    double ones[3 + MASTER_CUTS];

    if (m->count == m->room)
        return;
    if (type >= 0) {
        if (m->present[cell(m, type, i, j)])
            return;
        m->present[cell(m, type, i, j)] = true;
        rows[count++] = type;
    }
    rows[count++] = m->w->types + i;
    if (j >= 0) {
        rows[count++] = m->w->types + j;
        for (int c = 0; c < m->cut_count; c++)
            if (m->cuts[c].has[i] && m->cuts[c].has[j])
                rows[count++] = m->cuts[c].row;
    }
    for (int x = 0; x < count; x++)
        ones[x] = 1;
    m->columns[m->count] = (struct master_column){
        type < 0 ? m->w->penalty[i] : cost_of(m, type, i, j), type, {i, j}};
    lp_column(m->lp, (double)m->columns[m->count++].cost, 0, 1, count, rows, ones);
}

struct offer {
    double reduced;
    int type, mate;
};

static int insert(struct offer *best, int count, int most, struct offer offer)
{
    int at = count < most ? count++ : most - 1;

    for (; at > 0 && best[at - 1].reduced > offer.reduced; at--)
        best[at] = best[at - 1];
    best[at] = offer;
    return count;
}

/* Does the row hold anything below the limit, to a float's precision?  A loop without
 * branches is several times as fast as one that looks at each. */
static bool any_below(const float *row, const float *charge, const float *worth, int n,
                      float limit)
{
    int below = 0;

    for (int j = 0; j < n; j++)
        below += row[j] + charge[j] - worth[j] < limit;
    return below > 0;
}

/* The best few columns of one task at the duals, below a limit; returns how many. */
static int best_offers(const struct master *m, int i, double limit, struct offer *best,
                       int most)
{
    const struct work *w = m->w;
    int n = w->tasks, count = 0;
    const float *charge = &m->charge[(size_t)i * (size_t)n];

    for (int t = 0; t < w->types; t++) {
        const float *row =
            &w->pair_table[((size_t)t * (size_t)n + (size_t)i) * (size_t)n];
        double base = m->price[t] - m->worth[i];
        double alone = (double)work_alone(w, t, i, NULL) + base;

        if (alone < limit)
            count = insert(best, count, most, (struct offer){alone, t, -1});
        if (!any_below(row, charge, m->rough, n, (float)(limit - base) + 0.01f))
            continue;
        for (int j = 0; j < n; j++) {
            double reduced = (double)(row[j] + charge[j]) + base - m->worth[j];

            if (reduced >= limit)
                continue;
            count = insert(best, count, most, (struct offer){reduced, t, j});
            if (count == most)
                limit = fmin(limit, best[most - 1].reduced);
        }
    }
    return count;
}

static void add_pair(struct master *m, int type, int i, int j)
{
    if (j >= 0 && j < i)
        add_column(m, type, j, i);
    else
        add_column(m, type, i, j);
}

static void make_rough(struct master *m)
{
    for (int i = 0; i < m->w->tasks; i++)
        m->rough[i] = (float)m->worth[i];
}

/* Add the best columns of every task that save at least this; over (tasks, NULL: not
 * wanted) gets what must come off a task's worth for none to save anything: the worst
 * violation it has part in, of pairs the half. */
static int add_best(struct master *m, double saves, int most, double *over)
{
    const struct work *w = m->w;
    struct offer best[FIRST_A_TASK];
    int before = m->count;

    assert(most <= FIRST_A_TASK);
    make_rough(m);
    for (int i = 0; i < w->tasks; i++) {
        int count = best_offers(m, i, fmax(-saves, -1e-9), best, most);

        for (int x = 0; x < count && best[x].reduced < -saves; x++)
            add_pair(m, best[x].type, i, best[x].mate);
        if (!over)
            continue;
        over[i] = count ? -best[0].reduced / (best[0].mate < 0 ? 1 : 2) : 0;
        for (int t = 0; t < w->types && count; t++)
            over[i] = fmax(over[i],
                           m->worth[i] - m->price[t] - (double)work_alone(w, t, i, NULL));
    }
    return m->count - before;
}

static void add_placement(struct master *m, const struct search *s)
{
    for (int r = 0; r < s->count; r++)
        if (s->records[r].type >= 0)
            add_pair(m, s->records[r].type, s->records[r].task[0], s->records[r].task[1]);
}

void master_init(struct master *m, struct work *w, struct lp *lp, const double *worth,
                 const struct search *placement)
{
    size_t n = (size_t)w->tasks;

    *m = (struct master){
        .w = w, .lp = lp, .bound = -INFINITY, .current = -INFINITY, .plain = -INFINITY};
    m->room = (int)n * ROOM_A_TASK;
    m->columns = arena_array(w->arena, struct master_column, m->room);
    m->present = arena_array(w->arena, bool, (size_t)w->types *n *n);
    m->charge = arena_array(w->arena, float, n *n);
    m->worth = arena_array(w->arena, double, n + 1);
    m->over = arena_array(w->arena, double, n + 1);
    m->rough = arena_array(w->arena, float, n + 1);
    m->price = arena_array(w->arena, double, w->types);
    m->best_worth = arena_array(w->arena, double, n + 1);
    m->best_price = arena_array(w->arena, double, w->types);
    memset(m->present, 0, (size_t)w->types * n * n * sizeof(bool));
    memset(m->charge, 0, n * n * sizeof(float));
    memcpy(m->worth, worth, n * sizeof(double));
    memcpy(m->price, w->price, (size_t)w->types * sizeof(double));
    lp_clear(lp);
    for (int t = 0; t < w->types; t++)
        lp_row(lp, -LP_INFINITY, w->devices[t]);
    for (int i = 0; i < w->tasks; i++)
        lp_row(lp, 1, 1);
    for (int i = 0; i < w->tasks; i++)
        add_column(m, -1, i, -1);
    add_best(m, -(double)WORK_NEVER / 2, FIRST_A_TASK, NULL);
    add_placement(m, placement);
}

/* Duals of the cuts, as a charge on pairs; returns what they take off the bound. */
static double read_cuts(struct master *m, const double *dual)
{
    int n = m->w->tasks;
    double off = 0;

    if (m->cut_count)
        memset(m->charge, 0, (size_t)n * (size_t)n * sizeof(float));
    for (int c = 0; c < m->cut_count; c++) {
        const struct master_cut *cut = &m->cuts[c];
        double most = -fmin(dual[cut->row], 0);
        int size = 0;

        if (most <= 0)
            continue;
        for (int i = 0; i < n; i++) {
            size += cut->has[i];
            for (int j = 0; cut->has[i] && j < n; j++)
                if (cut->has[j])
                    m->charge[i * n + j] += (float)most;
        }
        off += most * (size - 1) / 2;
    }
    return off;
}

/* Duals of the LP just solved; returns what cuts and devices take off the bound. */
static double read_duals(struct master *m)
{
    const struct work *w = m->w;
    const double *dual = lp_duals(m->lp);
    double off = read_cuts(m, dual);

    for (int t = 0; t < w->types; t++) {
        m->price[t] = -fmin(dual[t], 0);
        off += m->price[t] * w->devices[t];
    }
    for (int i = 0; i < w->tasks; i++)
        m->worth[i] = dual[w->types + i];
    return off;
}

static void prove(struct master *m, double off, const double *over)
{
    double sum = -off;

    for (int i = 0; i < m->w->tasks; i++) {
        m->worth[i] = fmin(m->worth[i] - over[i], (double)m->w->penalty[i]);
        sum += m->worth[i];
    }
    m->current = sum;
    if (m->cut_count == 0 && sum >= m->plain) {
        m->plain = sum;
        memcpy(m->best_worth, m->worth, (size_t)m->w->tasks * sizeof(double));
        memcpy(m->best_price, m->price, (size_t)m->w->types * sizeof(double));
    }
    m->bound = fmax(m->bound, sum);
}

static bool same_cut(const struct master_cut *cut, const int *members, int count, int n)
{
    int size = 0;

    for (int i = 0; i < n; i++)
        size += cut->has[i];
    if (size != count)
        return false;
    for (int x = 0; x < count; x++)
        if (!cut->has[members[x]])
            return false;
    return true;
}

static bool add_cut(void *ctx, const int *members, int count)
{
    struct master *m = ctx;
    struct work *w = m->w;
    struct master_cut *cut = &m->cuts[m->cut_count];
    size_t mark;
    int *columns, columns_count = 0;
    double *ones;

    for (int c = 0; c < m->cut_count; c++)
        if (same_cut(&m->cuts[c], members, count, w->tasks))
            return true;
    if (m->cut_count == MASTER_CUTS)
        return false;
    cut->has = arena_array(w->arena, bool, w->tasks + 1);
    memset(cut->has, 0, (size_t)w->tasks * sizeof(bool));
    for (int x = 0; x < count; x++)
        cut->has[members[x]] = true;
    mark = arena_mark(w->arena);
    columns = arena_array(w->arena, int, m->count + 1);
    ones = arena_array(w->arena, double, m->count + 1);
    for (int c = 0; c < m->count; c++) {
        const struct master_column *col = &m->columns[c];

        if (col->type >= 0 && col->task[1] >= 0 && cut->has[col->task[0]] &&
            cut->has[col->task[1]]) {
            columns[columns_count] = c;
            ones[columns_count++] = 1;
        }
    }
    cut->row = lp_cut(m->lp, -LP_INFINITY, (count - 1) / 2, columns_count, columns, ones);
    m->cut_count++;
    arena_release(w->arena, mark);
    return true;
}

/* Pairs of the LP's solution that are neither whole nor absent. */
static int fractional_pairs(const struct master *m, struct oddsets_edge *edges)
{
    const double *values = lp_values(m->lp);
    int count = 0;

    for (int c = 0; c < m->count; c++) {
        const struct master_column *col = &m->columns[c];
        int e = 0;

        if (values[c] < 1e-6 || col->type < 0 || col->task[1] < 0)
            continue;
        while (e < count && (edges[e].a != col->task[0] || edges[e].b != col->task[1]))
            e++;
        if (e == count)
            edges[count++] = (struct oddsets_edge){col->task[0], col->task[1], 0};
        edges[e].value += values[c];
    }
    return count;
}

static bool cut_odd_sets(struct master *m)
{
    struct oddsets_edge *edges =
        arena_array(m->w->arena, struct oddsets_edge, m->count + 1);
    int before = m->cut_count;

    oddsets_find(m->w->tasks, edges, fractional_pairs(m, edges), add_cut, m);
    return m->cut_count > before;
}

bool master_solve(struct master *m, double enough, long iterations)
{
    double before = -INFINITY; /* bound when sets were last cut off */
    int idle = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double off;
        int added;

        if (!lp_solve(m->lp, LP_DUAL, 0))
            return false;
        off = read_duals(m);
        /* Prices and worth as the LP has them find new columns; then they are lowered. */
        added = add_best(m, SAVES, NEW_A_TASK, m->over);
        prove(m, off, m->over);
        if (m->bound >= enough || lp_iterations(m->lp) > iterations)
            break;
        if (added)
            continue;
        idle = m->bound - before < WORTH_A_CUT * fabs(m->bound) ? idle + 1 : 0;
        before = m->bound;
        if (idle == MAX_IDLE || !cut_odd_sets(m))
            break;
    }
    return true;
}

double master_reduced(const struct master *m, int type, int i, int j)
{
    double reduced = (double)cost_of(m, type, i, j) + m->price[type] - m->worth[i];

    if (j >= 0)
        reduced += (double)m->charge[i * m->w->tasks + j] - m->worth[j];
    return reduced;
}
