/* ledger.h - quotes, plans, decisions and estimates as JSON
 *
 * Answers of the daemon are made of it, and lines: the daemon stores these while its time
 * is moved by hand, `corgi sim --ledger` writes them to a file, and the same requests on
 * the same cluster give the same bytes. */
#pragma once

#include "base/json_out.h"
#include "loop/loop.h"

const char *ledger_verdict_name(enum quote_verdict verdict); /* accepted, queued, ... */
const char *ledger_action_name(enum action_kind kind);       /* wake, sleep, cap, ... */
const char *ledger_source_name(enum estimate_source source); /* initial, ... */

void ledger_estimate_json(struct json_out *out,
                          const struct estimate *estimate); /* NULL: null */
void ledger_quote_json(struct json_out *out, const struct cluster *cluster,
                       const struct quote *quote);
void ledger_alternatives_json(struct json_out *out, const struct cluster *cluster,
                              const struct decision *decision);

/* What was answered to a request; without the end of the line. */
void ledger_quote(struct str *line, double now_s, const struct cluster *cluster,
                  const struct quote *quote);

/* The actions of a round and the decisions behind them. */
void ledger_round(struct str *line, double now_s, const struct cluster *cluster,
                  const struct round_result *result);
