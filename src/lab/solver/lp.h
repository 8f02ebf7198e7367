/* lp.h - linear programs, built column by column
 *
 * The one door to the LP library; its types stay behind it.  Minimises; a builder is kept
 * and cleared between rounds, so it does not allocate once it has grown. */
#pragma once

#include <stdbool.h>

#define LP_INFINITY 1e30

struct lp;

struct lp *lp_create(void);
void lp_destroy(struct lp *lp); /* NULL is fine */
void lp_clear(struct lp *lp);

/* Both return the index of the new row or column.  Rows come before the columns that use
 * them.  After lp_solve() columns may be added and lp_solve() called again: it goes on
 * from the last basis. */
int lp_row(struct lp *lp, double low, double high);
int lp_column(struct lp *lp, double cost, double low, double high, int count,
              const int *rows, const double *values);

/* A further row over the columns that were solved with; lp_matrix() does not show it.
 * Then no columns before the next solve. */
int lp_cut(struct lp *lp, double low, double high, int count, const int *columns,
           const double *values);

enum lp_method { LP_DUAL, LP_PRIMAL, LP_BARRIER };

/* True when solved to optimality; limit_s 0: none.  A second call goes on from the last
 * basis, by the dual method after cuts, by the primal after new columns.
 * Results stay valid until the next call on lp. */
bool lp_solve(struct lp *lp, enum lp_method method, double limit_s);
double lp_objective(const struct lp *lp);
const double *lp_values(const struct lp *lp); /* (columns) */
const double *lp_duals(const struct lp *lp);  /* (rows) */
int lp_rows(const struct lp *lp);
long lp_iterations(const struct lp *lp); /* of all solves since lp_clear() */
int lp_columns(const struct lp *lp);

/* The program as compressed columns, for other solvers; borrowed until lp changes. */
struct lp_matrix {
    int columns, rows;
    const int *start; /* (columns + 1) */
    const int *index;
    const double *value;
    const double *column_low, *column_high, *cost;
    const double *row_low, *row_high;
};
struct lp_matrix lp_matrix(const struct lp *lp);
