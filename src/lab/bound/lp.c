/* lp.c - lp.h on CLP */
#include "lab/bound/lp.h"

#include "base/mem.h"
#include "base/vec.h"

#include <assert.h>
#include <coin/Clp_C_Interface.h>
#include <stdlib.h>

struct lp {
    vec_of(int) start;
    vec_of(int) index;
    vec_of(double) value;
    vec_of(double) column_low;
    vec_of(double) column_high;
    vec_of(double) cost;
    vec_of(double) row_low;
    vec_of(double) row_high;
    Clp_Simplex *model; /* NULL before the first solve */
    int loaded;         /* columns the model has */
};

struct lp *lp_create(void)
{
    struct lp *lp = mem_new(struct lp);

    lp_clear(lp);
    return lp;
}

void lp_destroy(struct lp *lp)
{
    if (!lp)
        return;
    lp_clear(lp);
    vec_free(&lp->start);
    vec_free(&lp->index);
    vec_free(&lp->value);
    vec_free(&lp->column_low);
    vec_free(&lp->column_high);
    vec_free(&lp->cost);
    vec_free(&lp->row_low);
    vec_free(&lp->row_high);
    free(lp);
}

void lp_clear(struct lp *lp)
{
    if (lp->model)
        Clp_deleteModel(lp->model);
    lp->model = NULL;
    lp->loaded = 0;
    vec_clear(&lp->start);
    vec_clear(&lp->index);
    vec_clear(&lp->value);
    vec_clear(&lp->column_low);
    vec_clear(&lp->column_high);
    vec_clear(&lp->cost);
    vec_clear(&lp->row_low);
    vec_clear(&lp->row_high);
    vec_push(&lp->start, 0);
}

int lp_row(struct lp *lp, double low, double high)
{
    vec_push(&lp->row_low, low);
    vec_push(&lp->row_high, high);
    return (int)lp->row_low.count - 1;
}

int lp_column(struct lp *lp, double cost, double low, double high, int count,
              const int *rows, const double *values)
{
    for (int i = 0; i < count; i++) {
        assert(rows[i] >= 0 && rows[i] < (int)lp->row_low.count);
        vec_push(&lp->index, rows[i]);
        vec_push(&lp->value, values[i]);
    }
    vec_push(&lp->start, (int)lp->index.count);
    vec_push(&lp->cost, cost);
    vec_push(&lp->column_low, low);
    vec_push(&lp->column_high, high);
    return (int)lp->cost.count - 1;
}

static void load(struct lp *lp)
{
    lp->model = Clp_newModel();
    Clp_setLogLevel(lp->model, 0);
    Clp_scaling(lp->model, 0); /* ones, and a few twos */
    Clp_loadProblem(lp->model, lp_columns(lp), lp_rows(lp), lp->start.items,
                    lp->index.items, lp->value.items, lp->column_low.items,
                    lp->column_high.items, lp->cost.items, lp->row_low.items,
                    lp->row_high.items);
}

static void add_new_columns(struct lp *lp)
{
    int from = lp->loaded, count = lp_columns(lp) - from;
    int base = lp->start.items[from];
    int *start;

    if (count == 0)
        return;
    start = mem_array(int, (size_t)count + 1);
    for (int i = 0; i <= count; i++)
        start[i] = lp->start.items[from + i] - base;
    Clp_addColumns(lp->model, count, lp->column_low.items + from,
                   lp->column_high.items + from, lp->cost.items + from, start,
                   lp->index.items + base, lp->value.items + base);
    free(start);
}

bool lp_solve(struct lp *lp)
{
    bool again = lp->model != NULL;

    if (again)
        add_new_columns(lp);
    else
        load(lp);
    lp->loaded = lp_columns(lp);
    if (again)
        Clp_primal(lp->model, 1);
    else
        Clp_dual(lp->model, 0); /* presolve takes longer than it saves */
    return Clp_status(lp->model) == 0;
}

double lp_objective(const struct lp *lp)
{
    return Clp_objectiveValue(lp->model);
}

const double *lp_values(const struct lp *lp)
{
    return Clp_getColSolution(lp->model);
}

const double *lp_duals(const struct lp *lp)
{
    return Clp_getRowPrice(lp->model);
}

int lp_rows(const struct lp *lp)
{
    return (int)lp->row_low.count;
}

int lp_columns(const struct lp *lp)
{
    return (int)lp->cost.count;
}
