/* report_page.h - a sweep as one page for people who doubt
 *
 * Self-contained HTML: no network, no scripts, all drawings inline.  The same sweep gives
 * the same bytes; times the machine took are on it only when asked for. */
#pragma once

#include "base/str.h"
#include "lab/sim/sweep.h"

struct report_input {
    const struct sweep *sweep;
    const struct sweep_options *options;
    const char *command; /* that gives the same numbers again; NULL: not known */
    const char *part;    /* HTML of a section before the others; NULL: none */
    bool timings;
    double price; /* of a kWh; 0: not told */
    double co2_g; /* grams of CO2 a kWh; 0: not told */
};

void report_page(struct str *out, const struct report_input *input);
