/* names.c - the words of the tables; the files that write and read rows call it */
#include "store/names.h"

#include "loop/requirement.h"

#include <assert.h>
#include <string.h>

static const char *const states[] = {"waiting", "running",   "done",
                                     "failed",  "cancelled", NULL};
static const char *const kinds[] = {"training", "inference", NULL};

int names_find(const char *const *names, const char *name)
{
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

const char *names_state(enum job_state state)
{
    assert(state <= JOB_CANCELLED);
    return states[state];
}

enum job_state names_state_of(const char *name)
{
    return (enum job_state)names_find(states, name);
}

const char *names_kind(enum job_kind kind)
{
    assert(kind <= JOB_INFERENCE);
    return kinds[kind];
}

enum job_kind names_kind_of(const char *name)
{
    return (enum job_kind)names_find(kinds, name);
}

enum need_kind names_need_of(const char *name)
{
    for (int kind = NEED_BEST_EFFORT; name && kind <= NEED_DEADLINE; kind++)
        if (strcmp(requirement_kind_name((enum need_kind)kind), name) == 0)
            return (enum need_kind)kind;
    return NEED_BEST_EFFORT;
}
