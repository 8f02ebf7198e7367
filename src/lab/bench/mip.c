/* mip.c - mip.h on CBC */
#include "lab/bench/mip.h"

#include <coin/Cbc_C_Interface.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

static void set(Cbc_Model *model, const char *name, double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%g", value);
    Cbc_setParameter(model, name, text);
}

/* The library prints a banner and option echoes whatever its log level says. */
static int silence(void)
{
    int kept, null;

    fflush(stdout);
    kept = dup(STDOUT_FILENO);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept >= 0 && null >= 0)
        dup2(null, STDOUT_FILENO);
    if (null >= 0)
        close(null);
    return kept;
}

static void speak(int kept)
{
    fflush(stdout);
    if (kept < 0)
        return;
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

struct mip_result mip_solve(const struct lp *lp, const bool *integer, double limit_s,
                            double gap, bool plan_known, double *values)
{
    struct lp_matrix m = lp_matrix(lp);
    Cbc_Model *model = Cbc_newModel();
    struct mip_result r = {.objective = INFINITY, .bound = -INFINITY};
    int kept = silence();

    Cbc_loadProblem(model, m.columns, m.rows, m.start, m.index, m.value, m.column_low,
                    m.column_high, m.cost, m.row_low, m.row_high);
    for (int c = 0; c < m.columns; c++)
        if (integer[c])
            Cbc_setInteger(model, c);
    set(model, "seconds", limit_s);
    set(model, "ratioGap", gap);
    /* Other work on the machine is no matter. */
    Cbc_setParameter(model, "timeMode", "cpu");
    Cbc_setParameter(model, "log", "0");
    if (plan_known)
        Cbc_setParameter(model, "heuristicsOnOff", "off");
    Cbc_solve(model);
    r.proven = Cbc_isProvenOptimal(model);
    r.found = r.proven || Cbc_numberSavedSolutions(model) > 0;
    r.bound = Cbc_getBestPossibleObjValue(model);
    if (r.found) {
        r.objective = Cbc_getObjValue(model);
        r.bound = fmin(r.bound, r.objective);
        memcpy(values, Cbc_getColSolution(model), (size_t)m.columns * sizeof(double));
    }
    Cbc_deleteModel(model);
    speak(kept);
    return r;
}
