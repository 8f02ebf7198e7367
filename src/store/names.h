/* names.h - the words that stand in the tables for our enums */
#ifndef CORGI_STORE_NAMES_H
#define CORGI_STORE_NAMES_H

#include "loop/types.h"

const char *names_state(enum job_state state);
enum job_state names_state_of(const char *name);
const char *names_kind(enum job_kind kind);
enum job_kind names_kind_of(const char *name);
enum need_kind names_need_of(const char *name); /* see requirement_kind_name() */

/* Index of the word in a list that ends with NULL; 0, the first, when it is not there
 * (the schema lets no other word in). */
int names_find(const char *const *names, const char *name);

#endif
