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

/* True when solved to optimality: by the dual method first, by the primal one after new
 * columns.  Results stay valid until the next call on lp. */
bool lp_solve(struct lp *lp);
double lp_objective(const struct lp *lp);
const double *lp_values(const struct lp *lp); /* (columns) */
const double *lp_duals(const struct lp *lp);  /* (rows) */
int lp_rows(const struct lp *lp);
int lp_columns(const struct lp *lp);
