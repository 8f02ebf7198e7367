/* advice_private.h - shared by the files of lab/advise/ */
#pragma once

#include "lab/advise/advice.h"

/* advice_fit.c: the first row of the sweep against the record. */
int advice_measure_fit(struct advice_fit *fit, const struct sweep *sweep,
                       const struct sweep_options *options, struct err *err);

/* advice_words.c: sentences, each ends with a newline. */
void advice_headline(const struct advice *advice, const struct advice_prices *prices,
                     struct str *out);
void advice_trust(const struct advice *advice, struct str *out);
