/* ledger.h - quotes, plans and decisions as lines of JSON
 *
 * The daemon stores these lines while its time is moved by hand, `corgi sim --ledger`
 * writes them to a file: the same requests on the same cluster give the same bytes. */
#ifndef CORGI_LOOP_LEDGER_H
#define CORGI_LOOP_LEDGER_H

#include "loop/loop.h"

/* What was answered to a request; without the end of the line. */
void ledger_quote(struct str *line, double now_s, const struct cluster *cluster,
                  const struct quote *quote);

/* The actions of a round and the decisions behind them. */
void ledger_round(struct str *line, double now_s, const struct cluster *cluster,
                  const struct round_result *result);

#endif
