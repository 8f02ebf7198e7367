/* report_words.h - the report's findings as sentences */
#pragma once

#include "base/str.h"
#include "lab/report/facts.h"

/* What can be said with a number, for the page's first line; not yet escaped. */
void words_headline(struct str *text, const struct facts *facts);

/* A <p> for each other verdict, and for goals that Corgi itself misses. */
void words_verdicts(struct str *out, const struct facts *facts);

/* What was compared on what; there is a load at least.  Not yet escaped. */
/* Of which GPUs there are how many. */
void words_cluster(struct str *text, const struct sim_recording *recording);

void words_compared(struct str *text, const struct facts *facts,
                    const struct scenario_options *scenario);

/* One load's comparison with its reference; not yet escaped. */
/* What the difference in energy would be in a year of such days, in kWh, and at a price
 * and grams of CO2 a kWh where they are not 0. */
void words_year(struct str *text, const struct facts_load *load, double price,
                double co2_g);
void words_load(struct str *text, const struct facts_load *load);
