/* unplaced.c - what a planner says of a job it leaves without a place, for a quote
 * (admit/quote.c) and for a job that waits (service/rounds.c) */
#include "loop/unplaced.h"

#include "base/str.h"
#include "loop/cluster.h"
#include "loop/requirement.h"

#include <stdio.h>

const char *unplaced_sentence(enum unplaced_reason reason, const struct job *job)
{
    const char *const sentences[UNPLACED_REASONS] = {
        [UNPLACED_CAPACITY] = job->devices > 1
                                  ? "waits: too few of the devices it could use are free"
                                  : "waits: no device it could use is free",
        [UNPLACED_RATE] =
            job->need.kind == NEED_BEST_EFFORT
                ? "waits: in every free place it would break the promise of a job "
                  "beside it"
                : "waits: no free place is believed to keep its requirement and those "
                  "of the jobs beside it",
        [UNPLACED_MEMORY] = "waits: it fits into the memory of no type it may use",
        [UNPLACED_POLICY] = "waits: the power limit leaves no room for it",
        [UNPLACED_HOST] = "waits: no node with a free device it could use has the "
                          "processors and the memory left that it asks for",
        [UNPLACED_NODE] = "waits: it would be on several nodes now, and is done earlier "
                          "where one will be free for all of it",
        [UNPLACED_ACCESS] = "waits: no node it may use, by its partition, account and "
                            "reservations, is free for as long as its time limit",
    };

    return sentences[reason];
}

bool unplaced_leaving(char *to, size_t size, const struct job *job, int type,
                      const struct cluster *c)
{
    for (int i = 0; c->leaving_count > 0 && i < c->device_count; i++) {
        const struct device *d = &c->devices[i];

        if (d->leaving_count == 0 || d->failed || d->drained ||
            (type >= 0 && d->type != type) || !requirement_allows_type(job, d->type))
            continue;
        snprintf(to, size, "%s:%d is being left by job %llu", c->nodes[d->node].name,
                 i - c->nodes[d->node].first_device,
                 (unsigned long long)cluster_leaving(c, i, NULL)->job);
        return true;
    }
    return false;
}

void unplaced_say(char *to, size_t size, enum unplaced_reason reason,
                  const struct job *job, const struct cluster *cluster)
{
    const char *sentence = unplaced_sentence(reason, job);
    char leaving[LOOP_NAME_SIZE + 64];

    if (reason == UNPLACED_CAPACITY &&
        unplaced_leaving(leaving, sizeof(leaving), job, -1, cluster))
        snprintf(to, size, "waits: %s", leaving);
    else
        str_copy(to, size, sentence ? sentence : "");
}
