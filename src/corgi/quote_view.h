/* quote_view.h - a promise, or what is offered instead, in words */
#ifndef CORGI_CORGI_QUOTE_VIEW_H
#define CORGI_CORGI_QUOTE_VIEW_H

#include "base/json.h"
#include "base/str.h"

#include <stdio.h>

/* Lines, each indented by two blanks; now_s is the daemon's clock, NaN: not known. */
void quote_view_print(const struct json_value *quote, const char *unit, double now_s,
                      FILE *out);

#endif
