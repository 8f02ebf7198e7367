/* unplaced.c - what a planner says of a job it leaves without a place, for a quote
 * (admit/quote.c) and for a job that waits (service/rounds.c) */
#include "loop/unplaced.h"

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
    };

    return sentences[reason];
}
