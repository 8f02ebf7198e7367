/* pair_replay.c - a bounded list: pairs.c puts what it forgets there, network_lesson.c
 * reads it */
#include "model/pair_replay.h"

#include <string.h>

/* So many of the oldest go at a time. */
#define LEAVE (PAIR_REPLAY_MAX / 8)

void pair_replay_put(struct pair_replay *r, struct cell cell, double value)
{
    if (r->kept.count >= PAIR_REPLAY_MAX) {
        r->kept.count -= LEAVE;
        memmove(r->kept.items, r->kept.items + LEAVE,
                r->kept.count * sizeof(*r->kept.items));
    }
    vec_push(&r->kept, (struct pair_replay_item){cell, value});
}

void pair_replay_fini(struct pair_replay *r)
{
    vec_free(&r->kept);
}

void pair_replay_copy(struct pair_replay *to, const struct pair_replay *from)
{
    to->kept.count = from->kept.count;
    to->kept.capacity = from->kept.capacity;
    to->kept.items =
        mem_dup(from->kept.items, from->kept.capacity, sizeof(*from->kept.items));
}

void pair_replay_code(struct pair_replay *r, struct codec *c, size_t jobs, int gpus)
{
    size_t kept = 0, count;

    for (size_t i = 0; c->out && i < r->kept.count; i++)
        kept += codec_kind_kept(c, r->kept.items[i].cell.job) &&
                codec_kind_kept(c, r->kept.items[i].cell.other);
    count = codec_count(c, kept, PAIR_REPLAY_MAX, 32);
    for (size_t i = 0; i < (c->out ? r->kept.count : count); i++) {
        struct pair_replay_item item = {{0, 0, 0}, 0};

        if (c->out)
            item = r->kept.items[i];
        if (c->out &&
            (!codec_kind_kept(c, item.cell.job) || !codec_kind_kept(c, item.cell.other)))
            continue;
        codec_kind(c, &item.cell.job, jobs);
        codec_int(c, &item.cell.gpu, 0, gpus - 1);
        codec_kind(c, &item.cell.other, jobs);
        codec_log(c, &item.value);
        if (c->in)
            vec_push(&r->kept, item);
    }
}
