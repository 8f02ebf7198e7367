/* reference.c - names, and what the forms share; see reference.h */
#include "lab/bench/reference.h"

#include "lab/bench/reference_private.h"
#include "base/mem.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/finish_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"brute", "exact", "cbc", "paper", "colgen", "gavel"};
static void (*const forms[])(struct reference *) = {reference_brute,  reference_exact,
                                                    reference_cbc,    reference_paper,
                                                    reference_colgen, reference_gavel};

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

const char *const *reference_names(int *count)
{
    *count = NAMES;
    return names;
}

void reference_add(struct reference *r, double cost, double high, int rows,
                   const int *index, const double *value, int type, int i, int j)
{
    int c = lp_column(r->lp, cost, 0, high, rows, index, value);

    if (c >= r->capacity) {
        int capacity = r->capacity ? 2 * r->capacity : 1024;

        r->columns = mem_resize(r->columns, (size_t)r->capacity, (size_t)capacity,
                                sizeof(*r->columns));
        r->capacity = capacity;
    }
    r->columns[c] = (struct reference_column){type, {i, j}};
    r->count = c + 1;
}

void reference_strong_rows(struct reference *r)
{
    double one = 1;

    for (int t = 0; t < r->w.types; t++)
        lp_row(r->lp, -LP_INFINITY, r->w.devices[t]);
    for (int i = 0; i < r->w.tasks; i++)
        lp_row(r->lp, 1, 1);
    for (int i = 0; i < r->w.tasks; i++) {
        int row = r->w.types + i;

        reference_add(r, (double)r->w.penalty[i], 1, 1, &row, &one, -1, i, -1);
    }
}

void reference_strong_column(struct reference *r, int type, int i, int j)
{
    int rows[3] = {type, r->w.types + i, r->w.types + j};
    double ones[3] = {1, 1, 1};
    float cost =
        j < 0 ? work_alone(&r->w, type, i, NULL) : work_pair(&r->w, type, i, j, NULL);

    if (cost < WORK_NEVER)
        reference_add(r, (double)cost, 1, j < 0 ? 2 : 3, rows, ones, type, i, j);
}

void reference_plan(struct reference *r, const double *values)
{
    struct solution *out = r->out;
    int use[PROBLEM_MAX_TYPES] = {0};

    for (int j = 0; j < r->p->job_count; j++)
        out->state[j] = SOLUTION_UNSERVED;
    out->device_count = 0;
    for (int c = 0; c < r->count; c++) {
        const struct reference_column *col = &r->columns[c];
        struct solution_device *d = &out->devices[out->device_count];
        int i = col->jobs[0], j = col->jobs[1];

        if (col->type < 0 || values[c] < 0.5 || out->state[i] == SOLUTION_SERVED ||
            (j >= 0 && out->state[j] == SOLUTION_SERVED) ||
            use[col->type] == r->w.devices[col->type])
            continue;
        *d = solution_device_of(0, i, j);
        if (j < 0 ? work_alone(&r->w, col->type, i, &d->variant) >= WORK_NEVER
                  : work_pair(&r->w, col->type, i, j, &d->variant) >= WORK_NEVER)
            continue;
        use[col->type]++;
        out->state[i] = SOLUTION_SERVED;
        if (j >= 0)
            out->state[j] = SOLUTION_SERVED;
        out->device_count++;
    }
    finish_figures(r->p, out);
    r->result->has_plan = true;
    r->result->objective = out->cost;
}

static int refuse(const struct problem *p, const char *name, struct err *err)
{
    if (p->node_count)
        return err_set(err, ERR_UNSUPPORTED, "solver %s knows no nodes: leave them out",
                       name);
    for (int j = 0; j < p->job_count; j++)
        if (p->classes[p->jobs[j].class_id].devices > 1)
            return err_set(err, ERR_UNSUPPORTED,
                           "solver %s takes jobs on one device: leave --multi out", name);
    return 0;
}

int reference_run(const char *name, const struct problem *p, double limit_s,
                  struct solution *out, struct reference_result *result, struct err *err)
{
    struct reference r = {.p = p, .limit_s = limit_s, .out = out, .result = result};
    struct arena *arena;
    int form = 0;

    while (form < NAMES && strcmp(names[form], name) != 0)
        form++;
    if (form == NAMES)
        return err_set(err, ERR_NOT_FOUND, "there is no solver called %s", name);
    if (refuse(p, name, err) < 0)
        return -1;
    *result = (struct reference_result){.objective = NAN, .bound = NAN};
    solution_fit(out, p);
    arena = arena_create();
    work_build(&r.w, p, arena, NULL, 0);
    caps_prune(&r.w);
    work_find_floors(&r.w);
    r.lp = lp_create();
    forms[form](&r);
    if (result->has_plan)
        out->bound = isnan(result->bound) ? -INFINITY : result->bound;
    out->gap = solution_gap(out);
    lp_destroy(r.lp);
    arena_destroy(arena);
    free(r.columns);
    return 0;
}
