/* classes_checkpoint.c - what is believed of classes as bytes: learned_checkpoint.c runs
 * it to save, to load and to leave classes out */
#include "model/classes_private.h"

#include <limits.h>
#include <math.h>

#define CELLS_MAX   (1 << 24)
#define DEVICES_MAX 4096

static void code_alone(struct classes *c, struct codec *codec)
{
    size_t types = (size_t)c->type_count, known = c->states.count;
    size_t count = codec_class_count(codec, known, PAIRS_MAX_JOBS, 24 * types);

    for (size_t i = 0; i < (codec->in ? count : known); i++) {
        struct class_state state = {0};

        if (!codec_kept(codec, (int)i))
            continue;
        if (codec->out)
            state = c->states.items[i];
        codec_kind(codec, &state.kind, c->kinds.count);
        codec_int(codec, &state.user, -1, INT_MAX);
        if (codec_bad(codec))
            return;
        if (codec->in)
            classes_push(c, state.kind, state.user);
        for (size_t t = 0; t < types; t++) {
            struct tally *tally = &c->alone.items[i * types + t];

            tally_code(tally, codec);
            if (codec->in)
                c->news.alone_cells += !isnan(tally->pushed);
        }
    }
    if (codec->in)
        c->news.alone = c->news.alone_cells;
}

static void code_pair(struct classes *c, struct class_pair *pair, struct codec *codec)
{
    codec_kind(codec, &pair->cell.job, c->kinds.count);
    codec_int(codec, &pair->cell.gpu, 0, c->type_count - 1);
    codec_kind(codec, &pair->cell.other, c->kinds.count);
    tally_code(&pair->tally, codec);
}

static bool both_kept(const struct codec *codec, struct cell cell)
{
    return codec_kind_kept(codec, cell.job) && codec_kind_kept(codec, cell.other);
}

static void code_beside(struct classes *c, struct codec *codec)
{
    size_t count = 0;

    vec_each (const struct class_pair, pair, &c->beside)
        count += both_kept(codec, pair->cell);
    count = codec_count(codec, count, CELLS_MAX, 64);
    if (codec->out) {
        vec_each (struct class_pair, pair, &c->beside)
            if (both_kept(codec, pair->cell))
                code_pair(c, pair, codec);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct class_pair read = {.tally = TALLY_EMPTY};

        code_pair(c, &read, codec);
        if (codec->in->bad) {
            tally_fini(&read.tally);
            return;
        }
        classes_push_pair(c, &read);
    }
}

static void code_gangs(struct classes *c, struct codec *codec)
{
    for (size_t i = 0; codec->in || i < c->gangs.count; i++) {
        struct class_gang_tally g = {.tally = TALLY_EMPTY};

        if (codec->out)
            g = c->gangs.items[i];
        if (!codec_kept(codec, g.gang.cls))
            continue;
        if (!codec_more(codec, true))
            return;
        codec_class(codec, &g.gang.cls, c->states.count);
        codec_int(codec, &g.gang.type, 0, c->type_count - 1);
        codec_int(codec, &g.gang.devices, 1, DEVICES_MAX);
        codec_bool(codec, &g.gang.spread);
        tally_code(&g.tally, codec);
        if (codec->in)
            classes_push_gang(c, &g);
    }
    codec_more(codec, false);
}

/* Every part numbers the same classes. */
static bool agree(const struct classes *c)
{
    size_t count = c->states.count;

    return (size_t)c->rates->jobs == count && c->watts->rows.count == count;
}

/* What follows from which class is of which kind. */
static void link_kinds(struct classes *c)
{
    for (size_t i = 0; i < c->states.count && i < c->watts->rows.count; i++)
        c->watts->rows.items[i].kind = c->states.items[i].kind;
}

void classes_code(struct classes *c, struct codec *codec)
{
    trust_code(&c->trust, codec);
    rates_code(c->rates, codec);
    pairs_code(c->pairs, codec);
    while (codec->in && c->kinds.count < (size_t)c->pairs->core->job_count)
        vec_push(&c->kinds, (struct class_kind){0});
    footprint_code(c->footprint, codec);
    watts_code(c->watts, codec);
    code_alone(c, codec);
    code_beside(c, codec);
    code_gangs(c, codec);
    if (codec->out)
        return;
    link_kinds(c);
    if (!agree(c))
        codec->in->bad = true;
}
