#include "service/end_why.h"

#include "base/str.h"
#include "engine/engine.h"
#include "service/lifecycle.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *code; /* as reason_code in the API */
    const char *text; /* where the engine says nothing */
} ends[] = {
    [ENGINE_END_DONE] = {"", ""},
    [ENGINE_END_FAILED] = {"exit", NULL}, /* describe_failure() */
    [ENGINE_END_STOPPED] = {"lost", "the engine stopped it"},
    [ENGINE_END_OUT_OF_MEMORY] = {"out_of_memory", "the device had too little memory"},
    [ENGINE_END_NOT_STARTED] = {"not_started", "it could not be started"},
    [ENGINE_END_LOST] = {"lost", "it ended while nobody looked"},
    [ENGINE_END_CANCELLED] = {"cancelled", "cancelled in the engine itself"},
    [ENGINE_END_TIME_LIMIT] = {"time_limit", "it reached its time limit"},
    [ENGINE_END_REQUEUED] = {"lost", "the engine put it back into the queue"},
    [ENGINE_END_NO_ROOM] = {"capacity", "its place was not free"},
    [ENGINE_END_UNKNOWN] = {"unknown", "nobody knows how it ended"},
};

/* The engine's text may begin with the status itself, or tell of a failure that is not
 * the job's own (its node's). */
static void describe_failure(const struct engine_event *e, char text[END_WHY_SIZE])
{
    bool more = e->text && *e->text;

    if (more && str_starts(e->text, "exit status"))
        snprintf(text, END_WHY_SIZE, "ended with %s", e->text);
    else if (more && (str_starts(e->text, "ended by signal") ||
                      (e->signal <= 0 && e->exit_status == 0)))
        snprintf(text, END_WHY_SIZE, "%s", e->text);
    else if (e->signal > 0)
        snprintf(text, END_WHY_SIZE, "ended by signal %d (%s)%s%s", e->signal,
                 strsignal(e->signal), more ? ": " : "", more ? e->text : "");
    else
        snprintf(text, END_WHY_SIZE, "ended with exit status %d%s%s", e->exit_status,
                 more ? ": " : "", more ? e->text : "");
}

struct why end_why(const struct engine_event *e, char buffer[END_WHY_SIZE])
{
    struct why why = {.code = ends[e->end].code,
                      .text = e->text && *e->text ? e->text : ends[e->end].text};

    if (e->end == ENGINE_END_FAILED) {
        describe_failure(e, buffer);
        why.text = buffer;
        why.code = e->signal > 0 ? "signal" : "exit";
    }
    return why;
}
